"""copy_remote: copies files from TensorFlow's file systems, such as gs://, into the cache."""

import os
import pathlib
from typing import Any

from tfreps._src.files.atomic_files import replacing
from tfreps._src.presets.cache_folder import folder_of, missing
from tfreps._src.presets.module_folders import MODULES, module_folders

UNKNOWN = "ftp", "ftps", "sftp"  # schemes that no file system of TensorFlow has


def is_remote(source: str) -> bool:
    """Returns True if a source begins with a scheme, as in `gs://bucket/folder`."""
    return "://" in source and source.split("://")[0].isalnum()


def copy_remote(source: str) -> pathlib.Path:
    """Copies a file, or the files of a folder, into the cache, and returns the path of the copy.

    The files are copied again only if their names, sizes or modification times have changed.
    Subfolders are not copied, with two exceptions: the subfolder `configs` of an ELMoForManyLangs
    model, and the subfolders that the modules.json of a sentence-transformers model names.
    Raises a ValueError if the source cannot be read.
    """
    scheme = source.split("://")[0]
    if scheme in UNKNOWN:
        raise ValueError(
            f"{source} cannot be downloaded: tfreps does not support {scheme}://. Use an address "
            "with https://, or download the file by other means and pass its path."
        )
    import tensorflow as tf

    gfile, source = tf.io.gfile, source.rstrip("/")
    try:
        is_folder = gfile.isdir(source)
        parent, _, name = (source, "", "") if is_folder else source.rpartition("/")
        names = _names(gfile, source) if is_folder else [name]
        paths = {name: f"{parent}/{name}" for name in names}
        stats = [(name, gfile.stat(path)) for name, path in paths.items()]
        state = [(name, found.length, found.mtime_nsec) for name, found in stats]
        folder = folder_of("copies", f"{source} {state}")
        with missing(folder) as is_missing:
            if is_missing:
                with replacing(folder) as temporary:
                    temporary.mkdir()
                    for name, path in paths.items():
                        (temporary / name).parent.mkdir(parents=True, exist_ok=True)
                        gfile.copy(path, str(temporary / name))
    except tf.errors.UnimplementedError as error:
        raise ValueError(
            f"TensorFlow cannot read {source}: it has no file system for {scheme}://. Install and "
            "import the package that adds it (tensorflow-io for s3://), or copy the files to a "
            "local folder."
        ) from error
    except tf.errors.OpError as error:
        reason = " ".join(str(error.message).split())[:200]
        raise ValueError(
            f"{source} cannot be read: {reason}. Check the address and your access rights."
        ) from error
    return folder if is_folder else folder / name


def _names(gfile: Any, source: str) -> list[str]:
    """Returns the sorted relative paths of the files that `copy_remote` copies from a source."""
    names = _listed(gfile, source)
    content = gfile.GFile(f"{source}/{MODULES}", "rb").read() if MODULES in names else b""
    for inner in {"configs", *module_folders(content)} - {""}:
        if gfile.isdir(f"{source}/{inner}"):
            names += [f"{inner}/{name}" for name in _listed(gfile, f"{source}/{inner}")]
    return sorted(names)


def _listed(gfile: Any, folder: str) -> list[str]:
    """Returns the names of the files in a folder, without its subfolders.

    Raises a ValueError for a name that is not safe to use in a local path.
    """
    names = [name for name in gfile.listdir(folder) if not gfile.isdir(f"{folder}/{name}")]
    for name in names:
        if name in ("", ".", "..") or os.path.basename(name) != name or not name.isprintable():
            raise ValueError(
                f"{folder} contains a file with the unsafe name {name!r}; expected a plain file "
                "name. Rename the file."
            )
    return names
