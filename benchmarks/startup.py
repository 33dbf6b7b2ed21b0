"""Measures how long programs take to start: imports, help, and the output for one line of text.

    python -m benchmarks.startup --run demo/tagger --export demo/exports/tagger
    python -m benchmarks.startup --only tag --run demo/tagger --before ../earlier/.venv/bin/python

Each command runs in its own process, --repeats times, alternating with the others, so that other
load slows all of them. The table shows the median of the seconds. With --before, each command also
alternates with the same command of another installation of tfreps, and the last column is the
quotient. With --cpu, the seconds are those of all CPU cores together, which depend less on other
load. The rows of --run and --export time a command as a user sees it, and steps in a process
that has imported everything: loading, the first answer, which traces functions, the second answer,
and the first answer for a longer line.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

from benchmarks.runner import chosen_rows, parse, print_machine, print_results, spread
from tfreps._src.cli.commands import COMMANDS

LINE = "The function returns a list of names ."
IMPORTS = "keras", "tfreps.layers", "tfreps.models"
STEPS = "load", "first answer", "second answer", "longer line"
# Programs that print the seconds of each step, one number per line.
TAGGER = """
import sys, time
from tfreps import load
folder, line, clock = *sys.argv[1:3], getattr(time, sys.argv[3])
times = [clock()]
tagger = load(folder)
times.append(clock())
for text in line, line, f"{line} {line} {line}":
    tagger(text)
    times.append(clock())
print(*(end - begin for begin, end in zip(times, times[1:])), sep="\\n")
"""
EXPORT = """
import sys, time
import tensorflow as tf
folder, line, clock = *sys.argv[1:3], getattr(time, sys.argv[3])
times = [clock()]
signature = tf.saved_model.load(folder).signatures["default"]
times.append(clock())
for text in line, line, f"{line} {line} {line}":
    signature(text=tf.constant([text]))
    times.append(clock())
print(*(end - begin for begin, end in zip(times, times[1:])), sep="\\n")
"""


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.startup",
        __doc__,
        only=("", "Measure only rows whose name contains PART.", {"metavar": "PART"}),
        repeats=(5, "Number of runs of a command."),
        run=(None, "Run folder of a tagger."),
        export=(None, "Folder that 'tfreps export' wrote for a tagger."),
        cpu=(False, "Measure CPU seconds instead of elapsed seconds."),
        before=(None, "Python interpreter of another installation of tfreps."),
    )
    print_machine()
    sides = [sys.executable, *([options.before] if options.before else [])]
    found = commands(options)
    found = {name: found[name] for name in chosen_rows(found, options.only)}
    seconds = {}
    for _ in range(options.repeats):
        for name, arguments in found.items():
            for side, python in enumerate(sides):
                for row, value in run(name, [python, *arguments], options.cpu).items():
                    seconds.setdefault(row, ([], []))[side].append(value)
    results = []
    for row, pair in seconds.items():
        now, *before = (statistics.median(values) for values in pair if values)
        cells = {"row": row, "seconds": f"{now:.2f}", "spread": spread(pair[0])}
        for value in before:
            cells |= {"before": f"{value:.2f}", "before / now": f"{value / now:.2f}"}
        results.append(cells)
    print_results(results)
    return 0


def commands(options):
    """Returns the arguments of Python for each command by name."""
    found = {f"import {name}": ["-I", "-c", f"import {name}"] for name in IMPORTS}
    found["--help"] = ["-I", "-m", "tfreps", "--help"]
    found |= {f"{name} --help": ["-I", "-m", "tfreps", name, "--help"] for name in COMMANDS}
    clock = "process_time" if options.cpu else "perf_counter"
    if options.run:
        found["tag"] = ["-I", "-m", "tfreps", "tag", options.run]
        found["tag, in Python"] = ["-I", "-c", TAGGER, options.run, LINE, clock]
    if options.export:
        models = pathlib.Path(options.export).glob("*/saved_model.pb")
        version = max((path.parent for path in models), key=lambda path: int(path.name))
        found["predict"] = ["-I", "-m", "tfreps", "predict", options.export, LINE]
        found["predict, in Python"] = ["-I", "-c", EXPORT, str(version), LINE, clock]
    return found


def run(name, command, of_cpu=False):
    """Runs a command; returns the seconds by row: one of the command, or one for each step."""
    clock = cpu_seconds if of_cpu else time.perf_counter
    begin = clock()
    done = subprocess.run(command, input=LINE, capture_output=True, text=True, check=False)
    seconds = clock() - begin
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    if "in Python" not in name:
        return {name: seconds}
    steps = map(float, done.stdout.splitlines()[-len(STEPS) :])
    return {f"{name}: {step}": value for step, value in zip(STEPS, steps, strict=True)}


def cpu_seconds():
    """Returns the CPU seconds of all processes that this process has started and that ended."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    raise SystemExit(main())
