"""Trained models for raw text, as returned by `tfreps.load`, and their outputs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
