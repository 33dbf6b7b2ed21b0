"""Times calls alternately, so that other load on the machine slows all of them."""

import contextlib
import json
import pathlib
import subprocess

from benchmarks.peer_loop import seconds

TURNS = 8
CHECKOUT = pathlib.Path(__file__).resolve().parent.parent


def alternately(calls, repeats, untimed=1):
    """Calls several functions alternately; returns a dict from names to the seconds of calls."""
    times = {name: [] for name in calls}
    for number in range(untimed + repeats):
        for name, call in calls.items():
            found = seconds(call)
            if number >= untimed:
                times[name].append(found)
    return times


def in_turns(call, repeats, peer_command=None):
    """Returns the seconds of calls of tfreps and of as many calls of a peer, if there is one.

    More than 8 calls are rounded down to a multiple of 8. The first five calls are not timed.
    """
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(peer_process(peer_command)) if peer_command else None
        for _ in range(5):
            call()
        ours, theirs = [], []
        for _ in range(min(TURNS, repeats)):
            number = max(repeats // TURNS, 1)
            ours += [seconds(call) for _ in range(number)]
            theirs += peer(number) if peer else []
    return ours, theirs


@contextlib.contextmanager
def peer_process(command):
    """Starts a peer in a context; yields a function that returns the seconds of n calls."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT
    ) as process:

        def answer():
            line = process.stdout.readline()
            if not line:
                raise OSError(f"The peer ended without a result: {' '.join(command)}.")
            return json.loads(line)

        def batches(number):
            print(number, file=process.stdin, flush=True)
            return answer()

        answer()
        yield batches
        process.stdin.close()
