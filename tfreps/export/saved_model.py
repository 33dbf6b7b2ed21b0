"""save_whole: writes a SavedModel atomically."""

import pathlib

import tensorflow as tf

from tfreps.files.atomic_files import replacing


def save_whole(module, folder, functions, finish=None):
    """Writes a SavedModel under a temporary name next to the folder, then renames it.

    Args:
        module: `tf.Module` with the weights and tables that the functions use.
        folder: str or path-like. A path that does not exist yet, or an empty folder. TensorFlow
            Serving expects its name to be the version number, as in `elmo/1`.
        functions: dict. Concrete function of each signature, by name.
        finish: function or None. Called with the temporary folder before it is renamed, to add
            files. If `None`, nothing is added. Defaults to `None`.

    Raises:
        ValueError: If `folder` exists and is not an empty folder.
    """
    folder = pathlib.Path(folder)
    check_free(folder)
    with replacing(folder, parents=True) as temporary:
        # Servers do not need the custom gradients.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(module, str(temporary), functions, options)
        if finish is not None:
            finish(temporary)


def check_free(folder):
    """Raises a ValueError if the path exists and is not an empty folder."""
    folder = pathlib.Path(folder)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ValueError(
            f"{folder} already exists and is not an empty folder. Choose another folder."
        )
