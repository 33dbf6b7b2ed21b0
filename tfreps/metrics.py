"""Metrics: perplexity, span F1, token scores, AUC and the mean loss of sentences."""

import lazy_loader

import tfreps._src.models.saved_classes  # noqa: F401

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
