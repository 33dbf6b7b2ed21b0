"""One clear sentence for whoever runs tfreps on another Keras than it was written for."""

import importlib
import os
import sys


def require_tensorflow_backend():
    """Checks that Keras is version 3, on TensorFlow, and not the legacy package.

    Called when `tfreps.layers` or `tfreps.models` is imported. Settings are looked at before
    Keras is imported, because importing Keras on a backend that is not installed fails with a
    message that does not say what to do.

    Raises:
        ImportError: naming the setting that stands in the way and what to set instead.

    Example:
    >>> require_tensorflow_backend()
    """
    if os.environ.get("TF_USE_LEGACY_KERAS", "") in ("1", "true", "True"):
        raise ImportError(
            "tfreps needs Keras 3, but TF_USE_LEGACY_KERAS asks TensorFlow for Keras 2: "
            "unset that variable and start Python again."
        )
    chosen = os.environ.get("KERAS_BACKEND", "tensorflow") or "tensorflow"
    if "keras" not in sys.modules and chosen != "tensorflow":
        raise ImportError(wrong_backend(chosen))
    keras = importlib.import_module("keras")
    if int(keras.__version__.split(".")[0]) < 3:
        raise ImportError(
            f"tfreps needs Keras 3.10 or newer; Keras {keras.__version__} is installed: "
            "run `pip install --upgrade keras`."
        )
    if keras.config.backend() != "tensorflow":
        raise ImportError(wrong_backend(keras.config.backend()))


def wrong_backend(name):
    """The sentence about a Keras backend that is not TensorFlow."""
    return (
        f"tfreps needs Keras on the TensorFlow backend, but Keras is set to {name!r}: set the "
        'environment variable KERAS_BACKEND=tensorflow (or "backend" in ~/.keras/keras.json) '
        "and start Python again."
    )
