"""Converters between checkpoints of other libraries and the weights of tfreps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
