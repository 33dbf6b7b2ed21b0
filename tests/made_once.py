"""Creates expensive folders once per test run, in the first process that needs them."""

import fcntl
import os


def made_once(tmp_path_factory, name, make):
    """Calls `make(folder)` if no process of this test run has done so, and returns the folder.

    Args:
        tmp_path_factory: fixture of pytest.
        name: str. Name of the folder, the same in every process. Tests must not change its files.
        make: function that creates the folder, given its `pathlib.Path`.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # shared by all processes
    folder, done = base / name, base / f"{name}.done"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
        if not done.exists():
            make(folder)
            done.touch()
    return folder
