"""Times the calls of a peer when benchmarks/in_turns.py requests it.

This module imports only the standard library, since a peer has its own environment.
"""

import json
import sys
import time


def answer(call, set_threads=None):
    """Prints "ready", and for each number on standard input the seconds of that many calls.

    With `set_threads`, one or two threads are chosen first, whichever is faster.
    """
    if set_threads is None:
        for _ in range(3):
            call()
    else:
        set_threads(fastest(call, set_threads))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps([seconds(call) for _ in range(int(line))]), flush=True)


def fastest(call, set_threads, choices=(1, 2)):
    """Returns the number of threads with the fastest call; the smaller number in case of a tie."""
    times = {}
    for threads in choices:
        set_threads(threads)
        times[threads] = min(seconds(call) for _ in range(5))
    return min(times, key=times.get)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
