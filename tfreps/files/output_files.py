"""Output files: never over what somebody else made, written whole, with errors that name them."""

import contextlib
import errno
import glob
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Iterable, Iterator

Path = str | os.PathLike

STREAMS = "/dev/", "/proc/"  # paths below these are not files that a program could replace
DESCRIPTORS = {"/dev/stdout": 1, "/dev/stderr": 2}
# The system's errors for a file that cannot grow; libraries repeat their texts in their own errors.
DISK_ERRORS = errno.ENOSPC, errno.EDQUOT, errno.EFBIG
SPARE = 2**20  # bytes that `check_space` leaves for what a format adds


def check_output(path: Path | None, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Raises a ValueError if a program must not write to a file; changes nothing.

    A file that holds something is written over with `overwrite` alone, and an input never. An
    empty file may be written to, and so may devices and pipes such as `/dev/stdout`.

    Args:
        path: the output file; None passes.
        overwrite: whether the user gave `--overwrite`.
        inputs: what the program reads: files, folders (with all that is in them), patterns, and
            "-" for standard input. Links to the same file are recognised.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "vocabulary.txt")
    >>> check_output(path)
    >>> _ = path.write_text("my own notes")
    >>> check_output(path, overwrite=True)
    >>> check_output(path, overwrite=True, inputs=[path])
    Traceback (most recent call last):
    ValueError: ...vocabulary.txt is an input of this command...
    """
    if path is None or is_stream(path):
        return
    _check_place(path, pathlib.Path(path).resolve())
    check_overwrite(path, overwrite, inputs)


def check_overwrite(path: Path, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """The same for a file in a folder that need not exist yet."""
    path = pathlib.Path(path)
    if not path.exists():
        return
    if path.is_dir():
        raise ValueError(f"Cannot write to {path}: it is a folder.")
    for each in inputs:
        if any(_holds(found, path) for found in _found(each)):
            raise ValueError(
                f"{path} is an input of this command ({each}), which is never written over: "
                "choose another file for the output."
            )
    if path.stat().st_size and not overwrite:
        raise ValueError(f"{path} exists already: choose another file, or give --overwrite.")


def is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe, or a name for one, which is written to as it is."""
    if os.path.abspath(path).startswith(STREAMS) and os.path.exists(path):
        return True
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextlib.contextmanager
def written_whole(path: Path | None):
    """A text file to write to, which appears whole or not at all; standard output for None.

    Where the path is a symbolic link, the file that it points to is written. Devices and pipes
    are written to as they are.

    Raises:
        ValueError: the path is a folder, or in none.
        OSError: the file cannot be written (disk full ...); names the path that was given.

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
        with naming(path), open(_target(path), "w", encoding="utf-8", newline="\n") as file:
            yield file
    else:
        _check_place(path, pathlib.Path(path).resolve())
        with replacing(path) as temporary:
            with open(temporary, "w", encoding="utf-8", newline="\n") as file:
                yield file


def write_text(path: Path, text: str) -> None:
    """Writes a text file in UTF-8, whole or not at all."""
    with written_whole(path) as file:
        file.write(text)


@contextlib.contextmanager
def replacing(path: Path, durable: bool = False) -> Iterator[pathlib.Path]:
    """The temporary path of a file, in the same folder, which gets its name when the block ends.

    After an error the temporary file is removed, and an earlier file stays as it was. Temporary
    files of processes that were killed are removed by the next one that writes the same file.

    Args:
        path: where the file belongs. Devices and pipes are given back as they are.
        durable: whether to wait until the disk has it.

    Raises:
        OSError: the file cannot be written; names `path`.
    """
    given, path = path, pathlib.Path(path).resolve()
    if is_stream(given):
        with naming(given):
            yield pathlib.Path(given)
        return
    temporary = _temporary(path)
    try:
        with naming(given, temporary):
            yield temporary
            if durable:
                with open(temporary, "rb+") as file:
                    os.fsync(file.fileno())
            if path.exists():
                shutil.copymode(path, temporary)
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_folder(folder: Path) -> Iterator[pathlib.Path]:
    """The same for a new or empty folder: a temporary path, at which nothing is yet."""
    given, folder = folder, pathlib.Path(folder).resolve()
    with naming(given):
        folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(folder)
    try:
        with naming(given, temporary):
            yield temporary
            if folder.exists():
                folder.rmdir()
            os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def naming(path: Path, temporary: pathlib.Path | None = None) -> Iterator[None]:
    """Has errors of the disk name the file that the user knows.

    Args:
        path: the file as the user gave it.
        temporary: its temporary name, or a folder, which errors may name instead.

    Raises:
        OSError: with the path as `filename`, for what any library raises because a disk is full
            or cannot be written to; and for an OSError that names the temporary file or none.
    """
    try:
        yield
    except Exception as error:
        number = _number(error, temporary)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), os.fspath(path)) from error


def check_space(path: Path, num_bytes: int) -> None:
    """Raises an OSError that names the file if its disk has no room for so many bytes more.

    HDF5 breaks down on a full disk, with thousands of lines on stderr: asked before, it does not.

    Args:
        path: the file, in a folder that exists.
        num_bytes: int. What is going to be written; `SPARE` is added to it.
    """
    disk = os.statvfs(pathlib.Path(path).resolve().parent)
    if disk.f_bavail * disk.f_frsize < num_bytes + SPARE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))


def is_temporary(name: str) -> bool:
    """Whether a file or folder of that name is one that has not got its own name yet."""
    return _pid(name) is not None


def _check_place(given: Path, path: pathlib.Path) -> None:
    """Raises a ValueError for a file that is a folder, or in none."""
    if path.is_dir() or not path.parent.is_dir():
        parent = pathlib.Path(given).parent  # of a link, the folder that it points into
        missing = path.parent if parent.is_dir() else parent
        what = "it is a folder" if path.is_dir() else f"there is no folder {missing}"
        raise ValueError(f"Cannot write to {given}: {what}.")


def _found(given: Path) -> list[Path | int]:
    """What an input stands for."""
    if given == "-":
        return [0]
    return [given] if os.path.exists(given) else glob.glob(os.fspath(given), recursive=True)


def _holds(found: Path | int, path: pathlib.Path) -> bool:
    """Whether an input is a file, or a folder with it somewhere inside."""
    try:
        same = os.path.samestat(os.stat(found), path.stat())
    except OSError:
        return False
    inside = found != 0 and pathlib.Path(found).resolve() in path.resolve().parents
    return same or inside


def _target(path: Path) -> Path | int:
    """What to open for a stream; descriptors of our own are shared, so that nothing is lost."""
    number = DESCRIPTORS.get(os.fspath(path))
    if number is None:
        match = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", os.fspath(path))
        number = int(match[1]) if match else None
    if number is None:
        return path
    sys.stdout.flush()
    return os.dup(number)


def _number(error: Exception, temporary: pathlib.Path | None) -> int | None:
    """The system's number of an error that is about the file; None for any other."""
    if isinstance(error, BrokenPipeError):
        return None
    name = getattr(error, "filename", None)
    if isinstance(error, OSError) and isinstance(name, str | os.PathLike):
        ours = temporary is not None and os.fspath(name).startswith(str(temporary))
        return error.errno if ours else None
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        return error.errno
    text = str(error)
    return next((number for number in DISK_ERRORS if os.strerror(number) in text), None)


def _temporary(path: pathlib.Path) -> pathlib.Path:
    """A temporary name, once those of processes that are gone have been removed."""
    for name in os.listdir(path.parent):
        if name.startswith(f".{path.name}.") and (pid := _pid(name)) and not _runs(pid):
            old = path.with_name(name)
            shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    return path.with_name(f".{path.name}.{os.getpid()}.tmp{path.suffix}")


def _pid(name: str) -> int | None:
    """Returns the process id in a temporary name, or None."""
    match = re.fullmatch(r"\..+\.(\d+)\.tmp(?:\.\w+)?", name)
    return int(match[1]) if match else None


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
