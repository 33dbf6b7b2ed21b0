"""Reports on tags and labels, computed without TensorFlow."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
