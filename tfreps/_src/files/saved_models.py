"""load_saved_model: loads a SavedModel, with the operations of TensorFlow Text if it needs them.

Beam's workers run this file without an installation of tfreps.
"""

import importlib
import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def load_saved_model(folder: str | os.PathLike[str], tags: Sequence[str] | None = None) -> Any:
    """Returns the object that `tf.saved_model.load(folder, tags)` returns.

    If TensorFlow lacks an operation of the model, TensorFlow Text is imported, and the model is
    loaded again.

    Raises:
        ValueError: If TensorFlow lacks an operation, and TensorFlow Text cannot be imported.
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
                f"the model in {folder} has operations that TensorFlow lacks, and tensorflow-text, "
                f"which may have these operations, cannot be imported ({missing}). Install the "
                "package with `pip install tensorflow-text`."
            ) from error
    return tf.saved_model.load(folder, tags)
