"""save_whole: a SavedModel that appears whole or not at all."""

import pathlib

import tensorflow as tf

from tfreps.files.atomic_files import replacing


def save_whole(module, folder, functions, finish=None):
    """Writes a SavedModel under a temporary name beside the folder, and renames it.

    Args:
        module: `tf.Module` with the weights and tables that the functions use.
        folder: path that does not exist yet, or an empty folder. TensorFlow Serving expects its
            name to be a number, the version: `elmo/1`.
        functions: dict from the name of a signature to its concrete function.
        finish: function that is given the folder under its temporary name, to add to it.

    Raises:
        ValueError: the folder holds something.
    """
    folder = pathlib.Path(folder)
    check_free(folder)
    with replacing(folder, parents=True) as temporary:
        # Without the gradients that were written by hand, which no server asks for.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(module, str(temporary), functions, options)
        if finish is not None:
            finish(temporary)


def check_free(folder):
    """Refuses to write where something is already."""
    folder = pathlib.Path(folder)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ValueError(f"{folder} exists already and is not an empty folder: choose another.")
