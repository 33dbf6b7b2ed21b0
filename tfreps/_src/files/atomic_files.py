"""Writes files and folders under a temporary name and renames them when complete."""

import contextlib
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Iterator
from typing import TextIO

from tfreps._src.files.disk_errors import naming

Path = str | os.PathLike[str]

STREAMS = ("/dev/", "/proc/")  # paths below these are not files that can be replaced
DESCRIPTORS = {"/dev/stdout": 1, "/dev/stderr": 2}


@contextlib.contextmanager
def replacing(path: Path, durable: bool = False, parents: bool = False) -> Iterator[pathlib.Path]:
    """Context manager that yields a temporary path, which is renamed to `path` at the end.

    The block creates a file or a folder at the temporary path, which is in the same folder as
    `path`. A file replaces an earlier file; a folder replaces only an empty folder. After an error,
    the temporary file or folder is removed, and `path` is unchanged. Temporary files of processes
    that were killed are removed by the next call for the same path. Paths of devices and pipes are
    yielded unchanged. With `durable`, the file is flushed to disk before it is renamed. With
    `parents`, missing parent folders are created.
    """
    if is_stream(path):
        with naming(path):
            yield pathlib.Path(path)
        return
    target = pathlib.Path(path).resolve()
    with naming(path):
        if parents:
            target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp{target.suffix}")
    try:
        with naming(path, temporary):
            yield temporary
            if temporary.is_dir():
                if target.exists():
                    target.rmdir()
            else:
                _finish_file(temporary, target, durable)
            os.replace(temporary, target)
    finally:
        _remove(temporary)


@contextlib.contextmanager
def written_whole(path: Path | None) -> Iterator[TextIO]:
    """Context manager that yields a UTF-8 text file for writing, which replaces `path` at the end.

    Devices and pipes are written to directly. If `path` is `None`, the file is standard output.
    """
    if path is None:
        with naming("standard output"):
            yield sys.stdout
            sys.stdout.flush()
    elif is_stream(path):
        with naming(path), open(_descriptor(path), "w", encoding="utf-8", newline="\n") as file:
            yield file
    else:
        check_place(path)
        with replacing(path) as temporary:
            with open(temporary, "w", encoding="utf-8", newline="\n") as file:
                yield file


def write_text(path: Path, text: str) -> None:
    """Writes a text file in UTF-8, completely or not at all."""
    with written_whole(path) as file:
        file.write(text)


def is_temporary(name: str) -> bool:
    """Returns True if a name has the form that `replacing` gives to temporary files and folders."""
    return _process_id(name) is not None


def is_stream(path: Path) -> bool:
    """Returns True if a path is a device, pipe or socket, or exists below /dev or /proc."""
    if os.path.abspath(path).startswith(STREAMS) and os.path.exists(path):
        return True
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def is_free(path: Path) -> bool:
    """Returns True if nothing exists at a path, or only an empty folder."""
    return not os.path.exists(path) or os.path.isdir(path) and not os.listdir(path)


def check_place(path: Path) -> None:
    """Raises a ValueError if an output path is a folder, or if its parent folder does not exist."""
    target = pathlib.Path(path).resolve()
    if target.is_dir():
        raise ValueError(f"Cannot write to {path}: it is a folder. Give the path of a file.")
    if not target.parent.is_dir():
        parent = pathlib.Path(path).parent
        # If `path` is a link, the folder of the link's target may be missing.
        missing = target.parent if parent.is_dir() else parent
        raise ValueError(
            f"Cannot write to {path}: there is no folder {missing}. Create the folder first."
        )


def _finish_file(temporary: pathlib.Path, target: pathlib.Path, durable: bool) -> None:
    """Prepares the file `temporary` to replace `target`.

    With `durable`, `temporary` is flushed to disk. If `target` exists, `temporary` gets its
    permissions.
    """
    if durable:
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
    if target.exists():
        shutil.copymode(target, temporary)


def _remove_leftovers(target: pathlib.Path) -> None:
    """Removes temporary files for the path `target` that were left by ended processes."""
    for name in os.listdir(target.parent):
        if name.startswith(f".{target.name}."):
            process_id = _process_id(name)
            if process_id is not None and not _is_running(process_id):
                _remove(target.with_name(name))


def _remove(path: pathlib.Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _descriptor(path: Path) -> Path | int:
    """Returns the argument with which `open` opens a device, pipe or socket.

    This is a duplicate of the file descriptor for a path such as /dev/fd/3, otherwise the path.
    """
    number = DESCRIPTORS.get(os.fspath(path))
    if number is None:
        match = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", os.fspath(path))
        number = int(match[1]) if match else None
    if number is None:
        return path
    sys.stdout.flush()
    return os.dup(number)


def _process_id(name: str) -> int | None:
    """Returns the process id in a temporary name, or None for any other name."""
    match = re.fullmatch(r"\..+\.(\d+)\.tmp(?:\.\w+)?", name)
    return int(match[1]) if match else None


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
