"""Times our calls and those of a peer alternately, so that other load slows both."""

import contextlib
import json
import pathlib
import subprocess

from benchmarks.peer_loop import seconds

TURNS = 8
CHECKOUT = pathlib.Path(__file__).resolve().parent.parent


def in_turns(call, repeats, peer_command=None):
    """Returns the seconds of our calls and of the same number of calls of a peer.

    Args:
        call: function without arguments. It is called five times before it is timed.
        repeats: int. Number of timed calls for each side. A number greater than 8 is rounded down
            to a multiple of 8.
        peer_command: list of str. Command of a program that calls `peer_loop.answer`. If `None`
            (the default), there is no peer.

    Returns:
        Two lists of float. The second is empty if there is no peer.

    Raises:
        OSError: If the peer ends without an answer.
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
    """Context manager that starts a peer; yields a function that returns the seconds of n calls."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT
    ) as process:

        def answer():
            line = process.stdout.readline()
            if not line:
                raise OSError(f"The peer ended without an answer: {' '.join(command)}.")
            return json.loads(line)

        def batches(number):
            print(number, file=process.stdin, flush=True)
            return answer()

        answer()
        yield batches
        process.stdin.close()
