"""Times the calls of a peer when benchmarks/in_turns.py requests it.

This module imports only the standard library, since a peer has its own environment.
"""

import json
import sys
import time


def answer(call):
    """Prints "ready", and for each number on standard input the seconds of that many calls."""
    for _ in range(3):
        call()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps([seconds(call) for _ in range(int(line))]), flush=True)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
