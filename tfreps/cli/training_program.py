"""Runs a program that trains: parses and checks options, and opens the run folder."""

import shlex

from tfreps.callbacks.stop_signals import go_on_with, stopped_by_signals
from tfreps.cli.options import add_flags, check_options, default_values, parse_options
from tfreps.cli.program_help import program_parser
from tfreps.runs.run_folder import RunFolder

# Options that may differ when a run is resumed. `LENGTHS` may differ only if the learning rate does
# not depend on the length of the run.
MAY_CHANGE = {"minutes", "checkpoint_every"}
LENGTHS = {"epochs", "steps"}


def make_parser(program, about, tables, groups=None, examples=()):
    """Returns the parser of a program, with `--run`, `--resume`, `--overwrite` and its own options.

    Args:
        program: str. Name of the program, as in `tfreps <program>`.
        about: str. Description that `--help` shows.
        tables: dict of the title of a group -> table (dict of name -> `Option`).
        groups: dict of the title of a group -> description. If `None`, there are no descriptions.
        examples: tuple of str. Commands that end the help. Defaults to `()`.
    """
    parser = program_parser(f"tfreps {program}", about, examples)
    add = parser.add_argument_group("run", "Folder of a new or a resumed run.").add_argument
    about = "Run folder for the model, checkpoints, logs and results."
    add("--run", metavar="RUN", required=True, help=about)
    add("--resume", action="store_true", help="Resume the run in the --run folder.")
    add("--overwrite", action="store_true", help="Replace an earlier run in the --run folder.")
    for title, table in tables.items():
        add_flags(parser.add_argument_group(title, (groups or {}).get(title)), table)
    return parser


def run_program(
    program, parser, tables, train, argv=None, recipes=None, check=None, free=(), either=()
):
    """Parses and checks the options, locks the run folder, and trains.

    Args:
        program: str. Name of the program, as in `tfreps <program>`.
        parser: parser that `make_parser` returned.
        tables: dict of the title of a group -> table (dict of name -> `Option`).
        train: function of the options and the run to resume (`None` for a new run) that returns the
            exit code.
        argv: list of str. Arguments after the name of the program. If `None`, the arguments of the
            process are used.
        recipes: path of a folder of JSON files that `--config` accepts by name. If `None`, there
            are no recipes.
        check: function of the options that raises a ValueError for values that the tables do not
            exclude. If `None`, the tables are the only check.
        free: tuple of names of options that may differ when a run is resumed, in addition to
            `MAY_CHANGE`. Defaults to `()`.
        either: tuple of names of options that exclude each other. If one of them is given, the
            values of all of them in the resumed run are ignored. Defaults to `()`.

    Returns:
        int. Exit code.

    Raises:
        ValueError: If the options, the run folder or the data are invalid.
        Stopped: If a signal ends the program.
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
    """Creates the run folder unless a run is resumed, and sets the command shown after a signal.

    Args:
        program: str. Name of the program.
        options: namespace of all options of the program.
        earlier: `RunFolder` to resume. If `None`, a new one is created.

    Returns:
        `tfreps.runs.run_folder.RunFolder`.
    """
    run = earlier or RunFolder.create(options.run, program, vars(options), options.overwrite)
    go_on_with(resume_command(run))
    return run


def resume_command(run) -> str:
    """Returns the command that resumes a run.

    Example:
    >>> resume_command(RunFolder("my run", "train-tagger", {}))
    "tfreps train-tagger --run 'my run' --resume"
    """
    return f"tfreps {run.program} --run {shlex.quote(str(run.path))} --resume"
