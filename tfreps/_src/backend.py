"""Checks that Keras has a supported version and backend."""

import importlib
import os
import sys


def require_tensorflow_backend():
    """Checks that TensorFlow and tfreps use Keras 3.12 or newer with the TensorFlow backend.

    This function is called when `tfreps.layers` or `tfreps.models` is imported. It checks the
    settings before it imports Keras, because importing Keras with a backend that is not installed
    fails with a message that does not say what to do.

    Raises:
        ImportError: If TensorFlow is set to use Keras 2, or Keras is older than 3.12 or has a
            different backend. The message says what to change.

    Example:
    >>> require_tensorflow_backend()
    """
    if os.environ.get("TF_USE_LEGACY_KERAS", "") in ("1", "true", "True"):
        raise ImportError(
            "tfreps needs Keras 3, but TF_USE_LEGACY_KERAS makes TensorFlow use Keras 2. "
            "Unset that variable and restart Python."
        )
    chosen = os.environ.get("KERAS_BACKEND", "tensorflow") or "tensorflow"
    if "keras" not in sys.modules and chosen != "tensorflow":
        raise ImportError(wrong_backend(chosen))
    keras = importlib.import_module("keras")
    if tuple(int(part) for part in keras.__version__.split(".")[:2]) < (3, 12):
        raise ImportError(
            f"tfreps needs Keras 3.12 or newer; Keras {keras.__version__} is installed. "
            "Run `pip install --upgrade keras`."
        )
    if keras.config.backend() != "tensorflow":
        raise ImportError(wrong_backend(keras.config.backend()))


def wrong_backend(name):
    """Returns the error message for a Keras backend other than TensorFlow."""
    return (
        f"tfreps needs Keras on the TensorFlow backend, but Keras is set to {name!r}. Set the "
        'environment variable KERAS_BACKEND=tensorflow (or "backend" in ~/.keras/keras.json) '
        "and restart Python."
    )
