"""Process that runs cases, so that a crash or a hang does not affect pytest.

To run a single case with its traceback: `python -m tests.hostile.worker FORMAT NUMBER`.
"""

import faulthandler
import json
import os
import pathlib
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings

MEGABYTE = 2**20
MOST_PROBLEMS = 20


class Wrong(Exception):
    """Problem that a case found."""


def one_case(kind, number, ready, folder):
    """Runs a case; returns True if the input was accepted, and raises any problem."""
    before = set(os.listdir(folder))
    try:
        taken = bool(kind.ask(ready, random.Random(f"{kind.name} {number}"), folder))
    except kind.refusals as error:
        if not str(error).strip():
            raise Wrong(f"{type(error).__name__} without a message") from error
        taken = False
    left = set(os.listdir(folder)) - before
    if left:
        raise Wrong(f"left behind: {sorted(left)}")
    return taken


def many_cases(kind, numbers, ready, folder, watch=lambda number: None):
    """Runs cases and returns a report as a dict.

    Args:
        kind: a `Format`.
        numbers: The numbers of the cases.
        ready: The result of `kind.prepare`.
        folder: The folder that `kind.prepare` was given.
        watch: Function that is called with the number of every case before it is run.
    """
    start, problems, taken, slowest = peak_megabytes(), {}, 0, (0.0, None)
    began, processor, tried = time.perf_counter(), time.process_time(), 0
    for number in numbers:
        watch(number)
        before, clock = peak_megabytes(), time.process_time()
        try:
            taken += one_case(kind, number, ready, folder)
            check_bounds(kind, start, before, clock)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            problems.setdefault(
                (type(error).__name__, where.filename, where.lineno),
                f"{kind.name} {number}: {shortened(traceback.format_exc())}",
            )
        tried += 1
        slowest = max(slowest, (time.process_time() - clock, number))
        if len(problems) == MOST_PROBLEMS:
            break
    return {
        "cases": tried,
        "taken": taken,
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - processor,
        "megabytes": peak_megabytes(),
        "grown": peak_megabytes() - start,
        "slowest": slowest,
        "problems": list(problems.values()),
    }


def check_bounds(kind, start, before, clock):
    seconds, now = time.process_time() - clock, peak_megabytes()
    if seconds > kind.seconds:
        raise Wrong(f"took {seconds:.1f} s of CPU, and {kind.seconds:g} s are allowed")
    if now > before and now - start > kind.megabytes:
        raise Wrong(f"memory grew by {now - start:.0f} MB, {now - before:.0f} of them in this case")


def peak_megabytes():
    """Returns the peak memory of this process in MiB, without that of its parent."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def shortened(text):
    return text if len(text) < 6_000 else f"{text[:1_000]}\n...\n{text[-4_500:]}"


def limit_memory(gigabytes):
    """Limits the address space to this many additional gigabytes."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(kind, first, last, folder, report):
    """Runs the cases `first` to `last` - 1, and writes the number of the current one to a file."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", ".*__array__ implementation doesn't accept a copy")
    # TensorFlow 2.21 with NumPy 2.5: how it reads float16 from a TensorProto.
    warnings.filterwarnings("ignore", "Setting the dtype on a NumPy array has been deprecated")
    ready = kind.prepare(folder)
    limit_memory(kind.address_gigabytes)
    with open(f"{report}.number", "wb", buffering=0) as file:
        found = many_cases(
            kind,
            range(first, last),
            ready,
            folder,
            lambda number: os.pwrite(file.fileno(), b"%-12d" % number, 0),
        )
    pathlib.Path(report).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    from tests.hostile.formats import FORMATS

    faulthandler.enable()
    kind = FORMATS[sys.argv[1]]
    if len(sys.argv) == 3:
        with tempfile.TemporaryDirectory() as new:
            os.chdir(new)
            folder = pathlib.Path(new)
            print(one_case(kind, int(sys.argv[2]), kind.prepare(folder), folder))
    else:
        first, last, folder, report = sys.argv[2:]
        main(kind, int(first), int(last), pathlib.Path(folder), report)
        sys.stdout.flush()
        os._exit(0)  # skips the exit handlers of libraries
