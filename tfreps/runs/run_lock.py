"""locked: one process at a time writes into a run folder, by a lock that dies with it."""

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
    """Another process writes into the run folder."""


@contextlib.contextmanager
def locked(folder: str | os.PathLike, program: str):
    """Keeps other processes from writing into a run folder, while inside.

    The lock is the kernel's (`flock`) on the file `run.lock` in the folder: it ends with its
    process, however that dies, so that a file left behind by a killed process locks nothing. Where
    a file system has no locks, a logged warning says so, and nothing is locked.

    Args:
        folder: the run folder; made if it does not exist, and removed in the end if it is still
            empty then.
        program: name of the program, which the error of another process names.

    Raises:
        RunInUse: another process has the lock.

    Example:
    >>> import tempfile
    >>> with locked(tempfile.mkdtemp(), "train-tagger"):
    ...     print("nobody else writes there")
    nobody else writes there
    """
    folder = pathlib.Path(folder)
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    file = _take(folder / LOCK, program)
    try:
        yield
    finally:
        if file is not None:
            (folder / LOCK).unlink(missing_ok=True)  # while nobody else can have it
            file.close()
        for path in missing:
            with contextlib.suppress(OSError):  # it holds something
                path.rmdir()


def _take(path, program):
    """The open, locked file; None where there are no locks."""
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
        file.close()  # the process that had it has just removed it
    logging.getLogger(__name__).warning(
        "%s has no locks (its file system, or Windows): take care that no second process writes "
        "there.",
        path.parent,
    )
    return None


def _is_there(file, path):
    """Whether an open file is the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _who(file, folder):
    """The sentence about the process that has the lock."""
    file.seek(0)
    try:
        holder = json.loads(file.read())
        on = "" if holder["host"] == socket.gethostname() else f" on {holder['host']}"
        who = f"process {holder['pid']}{on}, `tfreps {holder['program']}`, writes there"
    except (ValueError, KeyError, TypeError):  # it is writing this very moment
        who = "another process writes there"
    return f"{folder} is in use: {who}. Wait until it ends, or choose another folder."
