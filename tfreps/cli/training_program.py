"""run_program: what all programs that train have in common, from the command line to the run."""

import argparse
import shlex

from tfreps.callbacks.stop_signals import go_on_with, stopped_by_signals
from tfreps.cli.options import add_flags, check_options, default_values, parse_options
from tfreps.runs.run_folder import RunFolder

# Options that may differ when a run is resumed: in every program, and where the learning rate does
# not depend on the length of the run.
MAY_CHANGE = {"minutes", "checkpoint_every"}
LENGTHS = {"epochs", "steps"}


def make_parser(program, about, tables):
    """The parser of a program: `--run`, `--resume`, `--overwrite`, and tables of options.

    Args:
        program: str. Its name, as in `tfreps <program>`.
        about: str. The description that `--help` shows.
        tables: dict from the title of a group to a table, name -> Option.
    """
    parser = argparse.ArgumentParser(prog=f"tfreps {program}", description=about)
    add = parser.add_argument
    add("--run", required=True, help="folder to make: model, checkpoints, logs, results")
    add("--resume", action="store_true", help="go on with the killed run in that folder")
    add("--overwrite", action="store_true", help="replace an earlier run in that folder")
    for title, table in tables.items():
        add_flags(parser.add_argument_group(title), table)
    return parser


def run_program(
    program, parser, tables, train, argv=None, recipes=None, check=None, free=(), either=()
):
    """Parses and checks the options, takes hold of the run folder, and trains.

    Args:
        program: str. Its name, as in `tfreps <program>`.
        parser: what `make_parser` returned.
        tables: as of `make_parser`.
        train: function of the options and of the run to go on with, None for a new one; returns
            the exit code.
        argv: what follows the program's name; None for that of the process.
        recipes, either: as of `parse_options`.
        check: function of the options that raises a ValueError for what no table says.
        free: names of options that may differ when a run is resumed, beside `MAY_CHANGE`.

    Returns:
        int. The exit code.

    Raises:
        ValueError: for options, a run folder or data that are not as they should be.
        Stopped: a signal came.
    """
    options = parse_options(parser, argv, recipes, either)
    check_options(options, *tables.values())
    if check is not None:
        check(options)
    may_change = MAY_CHANGE.union(free, LENGTHS if options.schedule == "constant" else ())
    defaults = default_values(*tables.values())
    with (
        RunFolder.begin(options.run, program, vars(options), may_change, defaults) as earlier,
        stopped_by_signals(),
    ):
        return train(options, earlier)


def begin_run(program, options, earlier):
    """The run folder, made now unless there is an earlier one; a signal names how to go on.

    Args:
        program: str. Its name.
        options: namespace of all its options.
        earlier: the run to go on with; None for a new one.

    Returns:
        `tfreps.runs.run_folder.RunFolder`.
    """
    run = earlier or RunFolder.create(options.run, program, vars(options), options.overwrite)
    go_on_with(resume_command(run))
    return run


def resume_command(run) -> str:
    """The command that resumes a run.

    Example:
    >>> resume_command(RunFolder("my run", "train-tagger", {}))
    "tfreps train-tagger --run 'my run' --resume"
    """
    return f"tfreps {run.program} --run {shlex.quote(str(run.path))} --resume"
