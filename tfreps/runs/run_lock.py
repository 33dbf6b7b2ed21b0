"""locked: a lock that lets one process at a time write into a run folder."""

import contextlib
import errno
import json
import logging
import os
import pathlib
import socket

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

LOCK = "run.lock"
UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


class RunInUse(ValueError):
    """Error raised when another process writes into the run folder."""


@contextlib.contextmanager
def locked(folder: str | os.PathLike, program: str):
    """Context manager that prevents other processes from writing into a run folder.

    It holds a kernel lock (`flock`) on the file `run.lock` in the folder. The lock ends with its
    process, even if the process is killed, so a leftover file does not lock the folder. On Windows
    and on file systems without locks, a warning is logged and nothing is locked.

    Args:
        folder: str or path-like. The run folder. If it does not exist, it is created, and removed
            at the end if it is still empty.
        program: str. Name of the program, which appears in the error message of the other process.

    Raises:
        RunInUse: If another process holds the lock.
        OSError: If the folder cannot be created, or the file cannot be written or locked.

    Example:
    >>> import tempfile
    >>> with locked(tempfile.mkdtemp(), "train-tagger"):
    ...     print("locked")
    locked
    """
    folder = pathlib.Path(folder)
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    file = _take(folder / LOCK, program)
    try:
        yield
    finally:
        if file is not None:
            (folder / LOCK).unlink(missing_ok=True)  # before closing, which releases the lock
            file.close()
        for path in missing:
            with contextlib.suppress(OSError):  # it is not empty
                path.rmdir()


def _take(path, program):
    """Locks the file and returns it open, or returns `None` if locks are not supported."""
    while fcntl is not None:
        file = open(path, "a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            with file:
                if isinstance(error, BlockingIOError):
                    raise RunInUse(_who(file, path.parent)) from None
            path.unlink(missing_ok=True)
            if error.errno not in UNSUPPORTED:
                raise
            break
        if _is_there(file, path):
            file.truncate(0)
            json.dump({"pid": os.getpid(), "host": socket.gethostname(), "program": program}, file)
            file.flush()
            return file
        file.close()  # the process that held the lock has just removed the file
    logging.getLogger(__name__).warning(
        "%s cannot be locked: locks are not available on Windows and on some file systems. Make "
        "sure that no other process writes into this folder.",
        path.parent,
    )
    return None


def _is_there(file, path):
    """Returns True if the path still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _who(file, folder):
    """Returns the error message, which names the process that holds the lock."""
    file.seek(0)
    try:
        holder = json.loads(file.read())
        on = "" if holder["host"] == socket.gethostname() else f" on {holder['host']}"
        who = f"process {holder['pid']}{on} (`tfreps {holder['program']}`) is writing to it"
    except (ValueError, KeyError, TypeError):  # the file is being written right now
        who = "another process is writing to it"
    return f"{folder} is in use: {who}. Wait until it ends, or choose another folder."
