"""cache_folder: the folder for downloaded files, and locks between processes."""

import contextlib
import hashlib
import os
import pathlib
from collections.abc import Callable, Iterator

import filelock


def cache_folder() -> pathlib.Path:
    """Returns the folder for downloaded files: `tfreps` in Keras's folder.

    The environment variable `KERAS_HOME` sets Keras's folder, which defaults to `~/.keras`. Files
    from `hf://` addresses are stored in the cache of `huggingface_hub` instead (`HF_HOME`).
    """
    home = os.environ.get("KERAS_HOME") or os.path.join("~", ".keras")
    return pathlib.Path(home).expanduser() / "tfreps"


def folder_of(kind: str, source: str) -> pathlib.Path:
    """Returns the folder in the cache for the files of a source, such as a URL.

    `kind` is the name of the parent folder, such as `"urls"`.
    """
    return cache_folder() / kind / hashlib.sha256(source.encode()).hexdigest()[:16]


@contextlib.contextmanager
def missing(
    path: pathlib.Path, is_complete: Callable[[pathlib.Path], bool] = os.path.exists
) -> Iterator[bool]:
    """Context manager that yields True if its block must write `path`, and False otherwise.

    `is_complete` returns True for a path that must not be written again. By default, this is a path
    that exists. Other processes that need the same path wait for a lock until the block ends. The
    operating system releases the lock of a process that was killed. Raises a ValueError if the
    folder is not writable.
    """
    if is_complete(path):
        yield False
        return
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
        yield not is_complete(path)  # False if another process wrote the path
    finally:
        lock.release()
