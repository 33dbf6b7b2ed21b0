"""Reads text files into `tf.data.Dataset`s. TensorFlow is imported on first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
