"""cache_folder: the folder for downloaded files, and locks between processes."""

import contextlib
import hashlib
import os
import pathlib
from collections.abc import Iterator

import filelock


def cache_folder() -> pathlib.Path:
    """Returns the folder for downloaded files: `tfreps` in Keras's folder.

    The environment variable `KERAS_HOME` sets Keras's folder, which defaults to `~/.keras`. Files
    from `hf://` addresses are stored in the cache of `huggingface_hub` instead (`HF_HOME`).

    Example:
    >>> cache_folder().name
    'tfreps'
    """
    home = os.environ.get("KERAS_HOME") or os.path.join("~", ".keras")
    return pathlib.Path(home).expanduser() / "tfreps"


def folder_of(kind: str, source: str) -> pathlib.Path:
    """Returns the folder in the cache in which the files of a source are stored.

    Args:
        kind: str. Kind of source, such as `"urls"`, which names the parent folder.
        source: str. The source. The first 16 digits of its SHA-256 are the name of the folder.

    Example:
    >>> folder_of("urls", "https://host/folder").parent.name
    'urls'
    """
    return cache_folder() / kind / hashlib.sha256(source.encode()).hexdigest()[:16]


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[None]:
    """Context manager that only one process at a time can enter for a path.

    The parent folder of the path is created if it does not exist. The lock of a process that was
    killed is released by the operating system.

    Args:
        path: `pathlib.Path`. Path of the file or folder that the block writes.

    Raises:
        ValueError: If the parent folder cannot be created or written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path.with_name(f".{path.name}.lock"))
        lock.acquire()
    except OSError as error:
        raise ValueError(
            f"Cannot write to the download folder {path.parent}: {error.strerror or error}. Set "
            "the environment variable KERAS_HOME to a folder that can be written to."
        ) from error
    try:
        yield
    finally:
        lock.release()
