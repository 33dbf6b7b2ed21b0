"""Callbacks for Keras's `fit`: logs, checkpoints, best model, learning rate, averages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
