"""The other side of benchmarks/in_turns.py: a peer that times itself on request.

Imports nothing but the standard library, since a peer has an environment of its own.
"""

import json
import sys
import time


def answer(call, set_threads=None):
    """Answers each number on standard input with a JSON list of the seconds of so many calls.

    Args:
        call: function without arguments.
        set_threads: function of the number of threads, with which the quickest is chosen
            before the first answer; None to leave threads alone.
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
    """The number of threads of the quickest batch; ties go to the smaller."""
    times = {}
    for threads in choices:
        set_threads(threads)
        times[threads] = min(seconds(call) for _ in range(5))
    return min(times, key=times.get)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
