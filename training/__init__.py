"""Commands that train, evaluate and apply models, and training on several devices or machines."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
