"""Finds the processes that a process started, and measures their memory, on Linux."""

import pathlib
import re


def processes_of(pid):
    """Returns the ids of a process and of the processes that it started, by `/proc`."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # raised if the process has ended
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [pid]
    for process in found:
        found += parents.get(process, [])
    return found


def resident_mb(pid):
    """Returns the resident memory of a process in MB, or 0 if the process has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0
