"""load_saved_model: loads a SavedModel, with the operations of TensorFlow Text if it needs them.

Beam's workers run this file without an installation of tfreps.
"""

import importlib
import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def load_saved_model(folder: str | os.PathLike[str], tags: Sequence[str] | None = None) -> Any:
    """Returns a loaded SavedModel; imports TensorFlow Text if the model needs its operations.

    Raises:
        ValueError: If the model needs TensorFlow Text, which is not installed.
    """
    try:
        return tf.saved_model.load(folder, tags)
    except Exception as error:
        # The type of the error depends on where TensorFlow finds the operation.
        if "Op type not registered" not in str(error):
            raise
        try:
            # The import registers the operations of tensorflow-text.
            importlib.import_module("tensorflow_text")
        except ImportError as missing:
            raise ValueError(
                "the model has operations that TensorFlow lacks, and tensorflow-text, which may "
                f"have them, cannot be imported ({missing}). Install it with "
                "`pip install tensorflow-text`."
            ) from error
    return tf.saved_model.load(folder, tags)
