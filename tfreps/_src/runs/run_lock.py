"""locked: a lock that lets one process at a time write into a run folder."""

import contextlib
import errno
import json
import logging
import os
import pathlib
import socket
from collections.abc import Iterator

from tfreps._src.files.json_files import read_json

LOCK = "run.lock"
TIMEOUT = 0.1  # seconds to wait for the lock of a process that is just ending
UNSUPPORTED = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP}


class RunInUse(ValueError):
    """Error raised when another process writes into the run folder."""


@contextlib.contextmanager
def locked(folder: str | os.PathLike[str], command: str) -> Iterator[None]:
    """Context manager that prevents other processes from writing into a run folder.

    It holds a lock of `filelock` on the file `run.lock` in the folder. The lock ends with its
    process, even if the process is killed, so a leftover file does not lock the folder. On file
    systems that support no locks, a warning is logged and nothing is locked. A folder that does not
    exist is created, and removed at the end if it is still empty. While the block runs, this
    function raises a `RunInUse` in other processes, whose message contains `command`.
    """
    import filelock  # imported here, because only commands that write into a run folder need it

    folder = pathlib.Path(folder)
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=TIMEOUT)
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": command}
        if os.name != "nt":  # Windows does not allow writing to a locked file
            path.write_text(json.dumps(holder), encoding="utf-8")
    except filelock.Timeout:
        raise RunInUse(f"{folder} is in use: {_holder(path)}. {_REMEDY}") from None
    except OSError as error:
        _remove(path)
        lock.release()
        if error.errno not in UNSUPPORTED:
            raise
        logging.getLogger(__name__).warning(
            "%s cannot be locked: its file system supports no locks. Make sure that no other "
            "process writes into this folder.",
            folder,
        )
    try:
        yield
    finally:
        _remove(path)  # removed while locked: later, another process may use the file
        lock.release()
        for each in missing:
            with contextlib.suppress(OSError):  # raised if the folder is not empty
                each.rmdir()


def _remove(path: pathlib.Path) -> None:
    if os.name != "nt":  # Windows cannot remove an open file; filelock removes it later
        path.unlink(missing_ok=True)


_REMEDY = "Wait until it ends, or choose another folder."


def _holder(path: pathlib.Path) -> str:
    """Returns a clause for error messages that names the process that holds the lock."""
    try:
        holder = read_json(path)
        on = "" if holder["host"] == socket.gethostname() else f" on {holder['host']}"
        return f"process {holder['pid']}{on} (`tfreps {holder['command']}`) is writing to it"
    except (OSError, ValueError, KeyError):
        # Raised if the file is incomplete, or cannot be read on Windows.
        return "another process is writing to it"
