"""copy_remote: copies files from TensorFlow's file systems, such as gs://, into the cache."""

import os
import pathlib

from tfreps._src.files.atomic_files import replacing
from tfreps._src.presets.cache_folder import folder_of, missing


def is_remote(source: str) -> bool:
    """Returns True if a source begins with a scheme, as in `gs://bucket/folder`."""
    return "://" in source and source.split("://")[0].isalnum()


def copy_remote(source: str) -> pathlib.Path:
    """Copies a file, or the files of a folder, into the cache, and returns the path of the copy.

    The files are copied again only if their names, sizes or modification times have changed.
    Subfolders are not copied.
    """
    import tensorflow as tf

    gfile, source = tf.io.gfile, source.rstrip("/")
    try:
        is_folder = gfile.isdir(source)
        parent, _, name = (source, "", "") if is_folder else source.rpartition("/")
        names = sorted(gfile.listdir(parent)) if is_folder else [name]
        paths = {name: f"{parent}/{name}" for name in names}
        paths = {name: path for name, path in paths.items() if not gfile.isdir(path)}
        state = []
        for name, path in paths.items():
            if name in ("", ".", "..") or os.path.basename(name) != name:
                raise ValueError(f"{source} contains a file with the unsafe name {name!r}.")
            found = gfile.stat(path)
            state.append((name, found.length, found.mtime_nsec))
        folder = folder_of("copies", f"{source} {state}")
        with missing(folder) as is_missing:
            if is_missing:
                with replacing(folder) as temporary:
                    temporary.mkdir()
                    for name, path in paths.items():
                        gfile.copy(path, str(temporary / name))
    except tf.errors.UnimplementedError as error:
        scheme = source.split("://")[0]
        raise ValueError(
            f"TensorFlow cannot read {source}: it has no file system for {scheme}://. Install and "
            "import the package that adds it (tensorflow-io for s3://), or copy the files to a "
            "local folder."
        ) from error
    except tf.errors.OpError as error:
        reason = " ".join(str(error.message).split())[:200]
        raise ValueError(f"{source} cannot be read: {reason}.") from error
    return folder if is_folder else folder / name
