"""Models: whole networks, assembled from layers."""

from tfreps.backend import require_tensorflow_backend

require_tensorflow_backend()

from tfreps.models.bilm import BiLM  # noqa: E402



__all__ = ["BiLM"]
