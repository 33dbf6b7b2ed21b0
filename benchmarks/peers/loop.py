"""Calls a function of another library in an environment of its own: the protocol of all peers.

    .venv-peers/torch/bin/python -m benchmarks.peers.loop crf.prepare

The argument is a function of a file of this folder. The first line of standard input is a JSON list
of its arguments. If it returns a function to time, the program calls that function three times and
prints "ready"; for each further line, a number, it prints the seconds of that many calls, as a JSON
list. Otherwise, it prints the result as JSON. `benchmarks/runner.py` is the other end.

The files of this folder import only the standard library and shared files that do the same, since
a peer has its own environment.
"""

import importlib
import json
import sys
import time


def answer(name):
    """Calls a function such as `crf.prepare` with the arguments of standard input."""
    file, _, function = name.partition(".")
    module = importlib.import_module(f"benchmarks.peers.{file}")
    result = getattr(module, function)(*json.loads(sys.stdin.readline()))
    if not callable(result):
        print(json.dumps(result))
        return
    for _ in range(3):
        result()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps([seconds(result) for _ in range(int(line))]), flush=True)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    answer(sys.argv[1])
