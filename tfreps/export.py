"""Exports trained models as versioned SavedModels, or for ONNX Runtime or LiteRT."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
