"""copy_remote: copies files from TensorFlow's file systems, such as gs://, into the cache."""

import importlib
import os
import pathlib

from tfreps.files.atomic_files import replacing
from tfreps.presets.cache_folder import folder_of, locked


def is_remote(source: str) -> bool:
    """Returns True if a source begins with a scheme, as in `gs://bucket/folder`.

    Example:
    >>> is_remote("gs://bucket/elmo"), is_remote("runs/elmo")
    (True, False)
    """
    return "://" in source and source.split("://")[0].isalnum()


def copy_remote(source: str) -> pathlib.Path:
    """Copies a file, or the files of a folder, into the cache, and returns the path of the copy.

    The files are copied again only if their names, sizes or modification times have changed.
    Subfolders are not copied.

    Args:
        source: str. Path that `tf.io.gfile` reads, such as `gs://bucket/folder`.

    Returns:
        `pathlib.Path`. The copy.

    Raises:
        ValueError: If TensorFlow has no such file system or cannot read the files, if the name of
            a file is unsafe, or if the cache cannot be written to.
    """
    tf = importlib.import_module("tensorflow")
    gfile, source = tf.io.gfile, source.rstrip("/")
    try:
        is_folder = gfile.isdir(source)
        names = sorted(gfile.listdir(source)) if is_folder else [source.rsplit("/", 1)[-1]]
        paths = {
            name.rstrip("/"): f"{source}/{name}" if is_folder else source
            for name in names
            if not (is_folder and gfile.isdir(f"{source}/{name}"))
        }
        _check_names(source, paths)
        stats = {name: gfile.stat(path) for name, path in paths.items()}
        state = [(name, found.length, found.mtime_nsec) for name, found in stats.items()]
        folder = folder_of("copies", f"{source} {state}")
        if not folder.is_dir():
            with locked(folder):
                if not folder.is_dir():
                    _copy(gfile, paths, folder)
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
    return folder if is_folder else folder / names[0]


def _check_names(source: str, names) -> None:
    for name in names:
        if name in ("", ".", "..") or os.path.basename(name) != name:
            raise ValueError(f"{source} contains a file with the unsafe name {name!r}.")


def _copy(gfile, paths: dict[str, str], folder: pathlib.Path) -> None:
    with replacing(folder) as temporary:
        temporary.mkdir()
        for name, path in paths.items():
            gfile.copy(path, str(temporary / name))
