"""Contextual text representations (ELMo, BERT and others) on TensorFlow 2 and Keras 3."""

import importlib

__version__ = "0.1.0"

# Imported on first use, so that `import tfreps` alone does not load TensorFlow and Keras.
SUBMODULES = (
    "callbacks",
    "cli",
    "convert",
    "data",
    "distribute",
    "export",
    "files",
    "inference",
    "layers",
    "metrics",
    "models",
    "optimizers",
    "plots",
    "presets",
    "reports",
    "runs",
    "server",
    "text",
)
_FUNCTIONS = {"choose_precision": "tfreps.models.precision", "load": "tfreps.inference.load"}


def __getattr__(name):
    if name in SUBMODULES:
        return importlib.import_module(f"tfreps.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[name]), name)
    raise AttributeError(f"module 'tfreps' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *SUBMODULES, *_FUNCTIONS])
