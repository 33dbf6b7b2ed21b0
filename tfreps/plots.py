"""Plots as Matplotlib figures, PNG files and TensorBoard images. Requires matplotlib."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
