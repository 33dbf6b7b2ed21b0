"""Runs benchmarks: options, rows in processes of their own, alternating calls, and tables."""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import statistics
import subprocess
import sys
from typing import NamedTuple

from benchmarks.peers.loop import seconds

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
# Number of TensorFlow threads in the process of each row. A benchmark may also set it as the number
# of threads in the processes of other libraries.
THREADS = 2
TURNS = 8
# The instruction sets on which the speed of matrix multiplications depends.
SETS = "avx2 avx_vnni avx512f avx512_vnni avx512_bf16 amx_bf16 amx_int8 sve bf16".split()
OTHERS = "other libraries (ratio), the fastest first"


class Peer(NamedTuple):
    """Call of another library: `prepare(*arguments)` of a file in benchmarks/peers.

    `python` is the option with the Python interpreter in whose environment it runs.
    """

    python: str
    file: str
    arguments: tuple


class Run(NamedTuple):
    """The number of timed calls per row, and the Python interpreters of peers by option."""

    repeats: int
    pythons: dict

    def cells(self, call, tokens, peers=None, fewer=1):
        """Measures a call alternately with each peer; returns the cells of a row.

        Args:
            call: function without arguments, to time.
            tokens: int. Number of tokens per call.
            peers: dict from the names of other libraries to a `Peer` or, in this process, a
                function. Those without an interpreter are left out.
            fewer: int. Divides the number of timed calls.
        """
        repeats, ours, others = -(-self.repeats // fewer), [], {}
        peers = {n: p for n, p in (peers or {}).items() if callable(p) or p.python in self.pythons}
        for name in peers:
            calls = {"tfreps": call, name: peers[name]}
            ours, theirs = alternately(calls, repeats, self.pythons).values()
            median = statistics.median(theirs)
            others[name] = tokens / median, median / statistics.median(ours)
        ours = ours or alternately({"tfreps": call}, repeats)["tfreps"]
        speed = round(tokens / statistics.median(ours), 1)
        return {"tokens/s": speed, "spread": spread(ours), OTHERS: others}


def run_rows(module, argv, repeats, pythons=None):
    """Measures each row in its own process, and prints a table.

    Args:
        module: module with a docstring, and `ROWS`: a dict from the name of a row to the name of a
            function and its arguments. The function also gets a `Run`, and returns a dict from
            headings to cells, which are JSON types.
        argv: list of str. Arguments of the program.
        repeats: int. Default number of timed calls per row.
        pythons: dict from options, which are paths of Python interpreters, to the packages that
            must be installed there.
    """
    program, pythons = module.__spec__.name, pythons or {}
    argv = sys.argv[1:] if argv is None else argv
    options = parse(
        argv,
        program,
        module.__doc__,
        only=("", "Measure only rows whose name contains PART.", {"metavar": "PART"}),
        repeats=(repeats, "Number of timed batches per row."),
        row=(None, "Measure only this row, in this process, and print JSON.",
             {"choices": module.ROWS}),
        **{name: (None, f"Python with {what} installed.") for name, what in pythons.items()},
    )  # fmt: skip
    if options.row:
        print(json.dumps(measure(module, options.row, run_of(options, pythons))))
        return 0
    kinds = "INTRAOP", "INTEROP"
    environ = {**os.environ, **{f"TF_NUM_{kind}_THREADS": str(THREADS) for kind in kinds}}
    print_machine()
    results = []
    for name in chosen_rows(module.ROWS, options.only):
        command = [sys.executable, "-m", program, *argv, "--row", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
        results.append(json.loads(done.stdout.splitlines()[-1]))
        print(json.dumps(results[-1], ensure_ascii=False), flush=True)
    print_results(results)
    return 0


def measure(module, name, run):
    """Returns the name and the cells of a row."""
    function, *arguments = module.ROWS[name]
    return {"row": name, **getattr(module, function)(*arguments, run)}


def run_of(options, pythons):
    """Returns the `Run` of the options of a program."""
    found = {name: getattr(options, name) for name in pythons}
    return Run(options.repeats, {name: python for name, python in found.items() if python})


def alternately(calls, repeats, pythons=None, turns=TURNS):
    """Calls functions and peers alternately, so that other load slows all of them.

    More than `turns` calls are rounded down to a multiple of `turns`. The first five calls of a
    function, which trace graphs and fill caches, are not timed. Returns a dict from names to the
    seconds of calls.
    """
    with contextlib.ExitStack() as stack:
        timers = {
            name: timer(call) if callable(call) else stack.enter_context(peer(call, pythons))
            for name, call in calls.items()
        }
        times = {name: [] for name in calls}
        for _ in range(min(turns, repeats)):
            for name in calls:
                times[name] += timers[name](max(repeats // turns, 1))
    return times


def timer(call):
    """Calls a function five times; returns a function that returns the seconds of n calls."""
    for _ in range(5):
        call()
    return lambda number: [seconds(call) for _ in range(number)]


@contextlib.contextmanager
def peer(call, pythons):
    """Starts a peer in a context; yields a function that returns the seconds of n calls."""
    command = [pythons[call.python], "-m", "benchmarks.peers.loop", f"{call.file}.prepare"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, cwd=CHECKOUT) as process:

        def ask(question):
            print(json.dumps(question), file=process.stdin, flush=True)
            line = process.stdout.readline()
            if not line:
                raise OSError(f"The peer ended without a result: {' '.join(command)}.")
            return json.loads(line)

        ask(call.arguments)
        yield ask
        process.stdin.close()


def call_peer(python, function, *arguments):
    """Returns the result of a function of benchmarks/peers, called by another interpreter."""
    command = [python, "-m", "benchmarks.peers.loop", function]
    given = {"input": json.dumps(arguments), "text": True, "cwd": CHECKOUT}
    done = subprocess.run(command, capture_output=True, check=False, **given)
    if done.returncode:
        raise SystemExit(f"{function} failed in {python}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def spread(times):
    """Returns half the distance between the quartiles, in percent of the median."""
    times = times if len(times) > 1 else 2 * times
    first, middle, last = statistics.quantiles(times, n=4, method="inclusive")
    return f"±{50 * (last - first) / middle:.0f}%"


def parse(argv, program, description, **options):
    """Returns the options of a benchmark, with its docstring as the description.

    Each option is `(default, help)` or `(default, help, more arguments of add_argument)`. The type
    of its values is that of the default: a bool is a switch, and a list has one or more values. An
    option whose default is `...` is required. A dict contains the arguments of `add_argument` for a
    positional argument.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, given in options.items():
        if isinstance(given, dict):
            parser.add_argument(name, **given)
            continue
        default, about, *more = given
        kind = {"default": default}
        if default is ...:
            kind = {"required": True}
        elif isinstance(default, bool):
            kind = {"action": "store_true"}
        elif isinstance(default, list):
            kind |= {"type": type(default[0]), "nargs": "+"}
            about += f" Defaults to {' '.join(map(str, default))}."
        elif default is not None:
            kind["type"] = type(default)
            about += f" Defaults to {default}." if default != "" else ""
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, help=about, **kind, **(more[0] if more else {}))
    return parser.parse_args(argv)


def chosen_rows(names, only):
    """Returns the names that contain the value of --only.

    If there are none, the program ends with an error that lists the names.
    """
    chosen = [name for name in names if only in name]
    if not chosen:
        known = "".join(f"\n  {name}" for name in names)
        usage_error(f"--only {only!r} selects no row. The rows are:{known}")
    return chosen


def usage_error(message):
    """Prints an error in the options of a program, and ends it."""
    print(message, file=sys.stderr)
    raise SystemExit(2)


def print_machine():
    """Prints the date, the processor, its instruction sets, and the command."""
    sets = " ".join(instruction_sets())
    print(f"{datetime.date.today()}; {processor()}; {os.cpu_count()} cores; {sets}")
    print(shlex.join(sys.orig_argv), flush=True)


def processor(path="/proc/cpuinfo"):
    """Returns the name of the processor, on Linux as in /proc/cpuinfo."""
    path = pathlib.Path(path)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    return found[1].strip() if found else platform.processor() or platform.machine()


def instruction_sets():
    """Returns the instruction sets of the processor that multiply matrices."""
    from tfreps._src.layers.ops.cpu_instructions import cpu_instructions

    return [name for name in SETS if name in cpu_instructions()]


def print_results(results):
    """Prints tables of dicts from headings to cells, one for each set of headings.

    A cell of `OTHERS` is a dict from names to speeds and ratios.
    """
    tables = {}
    for result in results:
        tables.setdefault(" | ".join(result), []).append(map(as_cell, result.values()))
    for headings, rows in tables.items():
        print_table(headings, rows)


def as_cell(value):
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: item[1], reverse=True)
        shown = [f"{name} {speed:,.0f} ({ratio:.2f} x)" for name, (speed, ratio) in ordered]
        return ", ".join(shown) or "-"
    if isinstance(value, (int, float)):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return value


def print_table(headings, rows):
    """Prints a table in Markdown. `headings` is a str, such as `"row | tokens/s"`."""
    print(f"\n| {headings} |\n|{'---|' * len(headings.split(' | '))}")
    for cells in rows:
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
