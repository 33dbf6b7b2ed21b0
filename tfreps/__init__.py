"""Contextual text representations (ELMo, BERT and others) on TensorFlow 2 and Keras 3.

The modules of `tfreps` are imported on first use, so that `import tfreps` alone does not load
TensorFlow and Keras. If Keras has already been imported, `import tfreps` registers all classes, so
that `keras.saving.load_model` can load models of tfreps. Everything below `tfreps._src` is private.
"""

import importlib
import sys

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

if "keras" in sys.modules and sys.modules["keras"].config.backend() == "tensorflow":
    for _name in ("layers", "metrics", "models", "optimizers"):
        _module = importlib.import_module(f"tfreps.{_name}")
        for _class in _module.__all__:
            getattr(_module, _class)
