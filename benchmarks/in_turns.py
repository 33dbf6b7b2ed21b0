"""Times our calls and a peer's in turns, so that whatever else the machine does slows both."""

import contextlib
import json
import pathlib
import subprocess
import time

TURNS = 8
CHECKOUT = pathlib.Path(__file__).resolve().parent.parent


def in_turns(call, repeats, peer_command=None):
    """Seconds of so many of our calls, and of as many of the peer's.

    Args:
        call: function without arguments; called some times before, to trace and to fill caches.
        repeats: int. Timed calls of each side.
        peer_command: list of str. A program with `peer_loop.answer`; None for no peer.

    Returns:
        Two lists of float; the second is empty without a peer.
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
    """A function that has the peer time so many batches, and returns their seconds."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT
    ) as process:

        def answer():
            line = process.stdout.readline()
            if not line:
                raise OSError(f"The peer ended without an answer: {' '.join(command)}")
            return json.loads(line)

        def batches(number):
            print(number, file=process.stdin, flush=True)
            return answer()

        answer()
        yield batches
        process.stdin.close()


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
