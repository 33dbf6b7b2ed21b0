"""Contextual text representations (ELMo, BERT and others) on TensorFlow 2 and Keras 3.

The modules of `tfreps` are imported on first use, so that `import tfreps` alone does not load
TensorFlow and Keras. Everything below `tfreps._src` is private.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
