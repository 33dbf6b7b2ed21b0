"""Models: whole networks, assembled from layers."""

from tfreps.backend import require_tensorflow_backend

require_tensorflow_backend()

from tfreps.models.bilm import BiLM  # noqa: E402
from tfreps.models.bilm_pretrainer import BiLMPretrainer  # noqa: E402
from tfreps.models.elmo import Elmo  # noqa: E402

__all__ = ["BiLM", "BiLMPretrainer", "Elmo"]
