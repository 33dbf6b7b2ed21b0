"""Creates, opens, continues and publishes the run folders of training commands."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
