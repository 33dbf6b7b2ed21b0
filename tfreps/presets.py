"""Published weights: their table, downloads, and uploads to the Hugging Face Hub."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
