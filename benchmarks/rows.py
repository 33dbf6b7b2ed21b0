"""Functions that the benchmarks share: options, rows in separate processes, and tables."""

import argparse
import json
import os
import statistics
import subprocess
import sys

# Number of TensorFlow threads in the process of each row. A benchmark may also set it as the number
# of threads in the processes of other libraries.
THREADS = 2


def run_rows(module, rows, argv, repeats, peers=None):
    """Measures each row in its own process, and prints a table.

    Args:
        module: module with a docstring, `measure(row, repeats, **peers)`, which returns a dict of
            JSON types, and `print_results(results)`.
        rows: iterable of str. Names of the rows.
        argv: list of str. Arguments of the program.
        repeats: int. Default number of timed batches per row.
        peers: dict from arguments of `measure`, which are paths of Python interpreters, to the
            packages that must be installed there.
    """
    program, peers = module.__spec__.name, peers or {}
    parser = program_parser(
        program,
        module.__doc__,
        only=("", "Measure only rows whose name contains PART.", {"metavar": "PART"}),
        repeats=(repeats, "Number of timed batches per row."),
        row=(None, "Measure only this row, in this process, and print JSON.", {"choices": rows}),
        **{name: (None, f"Python with {packages} installed.") for name, packages in peers.items()},
    )
    options = parser.parse_args(argv)
    pythons = {name: getattr(options, name) for name in peers if getattr(options, name)}
    if options.row:
        print(json.dumps(module.measure(options.row, options.repeats, **pythons)))
        return 0
    kinds = "INTRAOP", "INTEROP"
    environ = {**os.environ, **{f"TF_NUM_{kind}_THREADS": str(THREADS) for kind in kinds}}
    results = []
    for name in chosen_rows(parser, rows, options.only):
        command = [sys.executable, "-m", program, "--row", name, "--repeats", str(options.repeats)]
        for peer, python in pythons.items():
            command += [as_flag(peer), python]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
        results.append(json.loads(done.stdout.splitlines()[-1]))
        print(json.dumps(results[-1]), flush=True)
    module.print_results(results)
    return 0


def add_figures(result, tokens, ours, theirs, peer):
    """Adds the speeds of both sides and their ratio to a result, given the seconds of the calls."""
    result["tokens_per_second"] = tokens / statistics.median(ours)
    if peer:
        result["peers"][peer] = tokens / statistics.median(theirs)
        result["ratios"][peer] = statistics.median(theirs) / statistics.median(ours)
    return result


def program_parser(program, description, **options):
    """Returns the parser of a benchmark, with its docstring as the description.

    Each option is `(default, help)` or `(default, help, more arguments of add_argument)`. The type
    of its values is that of the default: a bool is a switch, and a list has one or more values. An
    option whose default is `...` is required.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, (default, about, *more) in options.items():
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
        parser.add_argument(as_flag(name), help=about, **kind, **(more[0] if more else {}))
    return parser


def chosen_rows(parser, names, only):
    """Returns the names that contain the value of --only.

    If there are none, the program ends with an error that lists the names.
    """
    chosen = [name for name in names if only in name]
    if not chosen:
        known = "".join(f"\n  {name}" for name in names)
        parser.error(f"--only {only!r} selects no row. The rows are:{known}")
    return chosen


def as_flag(name):
    return f"--{name.replace('_', '-')}"


def print_ratios(results):
    """Prints a table of results from `add_figures`, sorted by speed within each row."""
    table = []
    for r in results:
        fastest = sorted(r["peers"], key=r["peers"].get, reverse=True)
        others = [f"{peer} {r['peers'][peer]:,.0f} ({r['ratios'][peer]:.2f} x)" for peer in fastest]
        table.append([r["row"], f"{r['tokens_per_second']:,.0f}", ", ".join(others) or "-"])
    print_table("row | tokens/s | other libraries (ratio), the fastest first", table)


def print_table(headings, rows):
    """Prints a table in Markdown. `headings` is a str, such as `"row | tokens/s"`."""
    print(f"\n| {headings} |\n|{'---|' * len(headings.split(' | '))}")
    for cells in rows:
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
