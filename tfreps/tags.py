"""Tags of tokens: schemes, spans, conversion, validation and ids."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
