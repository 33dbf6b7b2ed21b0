"""Measures the rows of a benchmark, each in its own process, and prints a table."""

import argparse
import json
import subprocess
import sys


def run_rows(module, rows, argv, repeats, peers=None, grid=()):
    """Runs a benchmark as a program.

    Args:
        module: module with a docstring, `measure(row, repeats, **peers)`, which returns a dict of
            JSON types, and `print_table(results)`.
        rows: iterable of str. Names of the rows.
        argv: list of str. Arguments of the program.
        repeats: int. Default number of timed batches per row.
        peers: dict from arguments of `measure`, which are paths of Python interpreters, to the
            packages that must be installed there.
        grid: iterable of str. Names of rows that `--grid` measures instead of the others.
    """
    program, peers = module.__spec__.name, peers or {}
    options = make_parser(program, module.__doc__, rows, repeats, peers, grid).parse_args(argv)
    pythons = {name: getattr(options, name) for name in peers if getattr(options, name)}
    if options.row:
        print(json.dumps(module.measure(options.row, options.repeats, **pythons)))
        return 0
    results = []
    for name in grid if grid and options.grid else rows:
        if options.only in name:
            command = [sys.executable, "-m", program, "--row", name]
            command += ["--repeats", str(options.repeats)]
            for peer, python in pythons.items():
                command += [f"--{peer.replace('_', '-')}", python]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
            results.append(json.loads(done.stdout.splitlines()[-1]))
            print(json.dumps(results[-1]), flush=True)
    module.print_table(results)
    return 0


def program_parser(program, description):
    """Returns a parser for the options of a benchmark, with its docstring as the description."""
    return argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def make_parser(program, description, rows, repeats, peers, grid=()):
    parser = program_parser(program, description)
    add = parser.add_argument
    add("--only", default="", metavar="PART", help="Measure only rows whose name contains PART.")
    about = f"Number of timed batches per row. Defaults to {repeats}."
    add("--repeats", type=int, default=repeats, help=about)
    for name, packages in peers.items():
        about = f"Python interpreter with {packages} installed."
        add(f"--{name.replace('_', '-')}", metavar="PATH", help=about)
    if grid:
        add("--grid", action="store_true", help="Measure a grid of sizes instead of the rows.")
    add(
        "--row",
        choices=[*rows, *grid],
        help="Measure only this row, in this process, and print JSON.",
    )
    return parser
