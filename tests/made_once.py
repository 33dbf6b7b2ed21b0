"""What takes its time to make is made once, by whichever test process needs it first."""

import fcntl
import os


def made_once(tmp_path_factory, name, make):
    """Calls `make(folder)` unless a process of this test run has done so; returns the folder.

    Args:
        tmp_path_factory: pytest's fixture.
        name: of the folder, the same in every process. What is in it is not to be changed.
        make: function of a `pathlib.Path` that does not exist yet, the folder to make.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # the one of all processes
    folder, done = base / name, base / f"{name}.done"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
        if not done.exists():
            make(folder)
            done.touch()
    return folder
