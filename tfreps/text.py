"""Converts strings to ids and back. Importing this module does not import TensorFlow."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
