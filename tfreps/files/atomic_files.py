"""Writes files and folders under a temporary name, and renames them when they are whole."""

import contextlib
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Iterator

from tfreps.files.disk_errors import naming

Path = str | os.PathLike

STREAMS = ("/dev/", "/proc/")  # paths below these are not files that a program could replace
DESCRIPTORS = {"/dev/stdout": 1, "/dev/stderr": 2}


@contextlib.contextmanager
def replacing(path: Path, durable: bool = False, parents: bool = False) -> Iterator[pathlib.Path]:
    """Gives a temporary path in the same folder, which is renamed to `path` when the block ends.

    The block makes a file or a folder there. A file replaces an earlier file; a folder takes the
    place of an empty one only. After an error the temporary file or folder is removed, and what
    was at `path` stays. Those of processes that were killed are removed by the next block for the
    same path.

    Args:
        path: where the file or folder belongs. Where it is a symbolic link, the file that it
            points to is replaced. Devices and pipes are given back as they are.
        durable: whether to wait until the disk has stored the file.
        parents: whether to make the folders above it that do not exist yet.

    Yields:
        pathlib.Path, at which nothing is yet.

    Raises:
        OSError: the file cannot be written (for example, the disk is full); names `path`.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "answers.bin")
        >>> with replacing(path) as temporary:
        ...     _ = temporary.write_bytes(b"yes")
        ...     path.exists()
        False
        >>> path.read_bytes()
        b'yes'
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
def written_whole(path: Path | None):
    """Opens a UTF-8 text file for writing, by `replacing`; gives standard output for None.

    Devices and pipes are written to as they are.

    Raises:
        ValueError: the path is a folder, or lies in a folder that does not exist.
        OSError: the file cannot be written (for example, the disk is full); names `path`.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "answers.txt")
        >>> with written_whole(path) as file:
        ...     _ = file.write("yes")
        >>> path.read_text()
        'yes'
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
    """Writes a text file in UTF-8, by `written_whole`."""
    with written_whole(path) as file:
        file.write(text)


def is_temporary(name: str) -> bool:
    """Whether a file or folder of that name is one that `replacing` has not renamed yet."""
    return _process_id(name) is not None


def is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe, or a name for one, which is written to as it is."""
    if os.path.abspath(path).startswith(STREAMS) and os.path.exists(path):
        return True
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def check_place(path: Path) -> None:
    """Raises a ValueError for an output file that is a folder, or lies in none."""
    target = pathlib.Path(path).resolve()
    if target.is_dir():
        raise ValueError(f"Cannot write to {path}: it is a folder.")
    if not target.parent.is_dir():
        parent = pathlib.Path(path).parent
        missing = target.parent if parent.is_dir() else parent  # of a link: where it points
        raise ValueError(f"Cannot write to {path}: there is no folder {missing}.")


def _finish_file(temporary: pathlib.Path, target: pathlib.Path, durable: bool) -> None:
    """Waits for the disk if asked to, and takes over the rights of the earlier file."""
    if durable:
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
    if target.exists():
        shutil.copymode(target, temporary)


def _remove_leftovers(target: pathlib.Path) -> None:
    """Removes what processes that are gone have left under a temporary name of the same path."""
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
    """What to open for a stream; descriptors of our own are shared, so that nothing is lost."""
    number = DESCRIPTORS.get(os.fspath(path))
    if number is None:
        match = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", os.fspath(path))
        number = int(match[1]) if match else None
    if number is None:
        return path
    sys.stdout.flush()
    return os.dup(number)


def _process_id(name: str) -> int | None:
    """The number of the process in a temporary name; None for any other name."""
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
