"""training_run: starts a command that trains, checks what may change, and opens its folder."""

import contextlib
import os
import shlex
import shutil

from tfreps._src.callbacks.checkpoint_file import list_checkpoints
from tfreps._src.callbacks.stop_signals import go_on_with, stopped_by_signals
from tfreps._src.cli.option_rules import unused_options
from tfreps._src.cli.options import as_flag, default_values
from tfreps._src.data.text_files import find_files
from tfreps._src.files.json_files import as_json
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.runs.run_manifest import TRAINING_DATA, check_data, has_data, record_data
from tfreps.training.options.training_options import AUTO, RUN, check_worker_data

# Options that may differ when a run is resumed. `LENGTHS` may differ only if the learning rate does
# not depend on the length of the run, and `TRAINING_DATA` only if the files still have the content
# with which the run was started.
MAY_CHANGE = {"time_limit_minutes", "checkpoint_every", "keep_checkpoints"}
LENGTHS = {"epochs", "steps"}


@contextlib.contextmanager
def training_run(command, argv=None, set_defaults=None, may_change=()):
    """Context manager that starts a training command, and locks and checks its run folder.

    Args:
        command: `Command` of the options.
        argv: list of str. The arguments of the command, as in `Command.parse`.
        set_defaults: function that sets further defaults in the parsed options, or `None`.
        may_change: names of options that may differ when a run is resumed, in addition to the
            options in `MAY_CHANGE`.

    Yields:
        tuple of the options and the run to resume, as `opened_run` does.

    Raises:
        Stopped: If a signal ends the command.
    """
    with command.started(argv) as options:
        if set_defaults is not None:
            set_defaults(options)
        with opened_run(command, options, may_change) as found:
            yield found


@contextlib.contextmanager
def opened_run(command, options, may_change=()):
    """Context manager that locks and checks the run folder of a training command.

    The arguments are those of `training_run`, and the options with all defaults.

    Yields:
        tuple of the options and the run to resume, which is `None` for a new run. If the run to
        resume has ended, a message is printed, and the options are `None`, too.

    Raises:
        Stopped: If a signal ends the command.
    """
    check_worker_data(options)
    changeable = MAY_CHANGE.union(may_change, LENGTHS if is_length_free(options) else ())
    # `precision.decide` keeps the precision of a resumed run.
    if getattr(options, "precision", None) == AUTO:
        changeable.add("precision")
    if has_data(options.run):
        changeable.update(TRAINING_DATA)
    defaults = default_values(own_options(command))
    given = options.run, command.name, vars(options), changeable, defaults
    folders = run_folders(options.distribute)
    with folders.open_for_training(*given) as earlier, stopped_by_signals():
        if earlier and earlier.is_trained and not list_checkpoints(earlier.checkpoints_path):
            check_unchanged(earlier, options, LENGTHS.union(may_change, ["keep_checkpoints"]))
            print(f"The run in {earlier.path} has ended: there is nothing to train.")
            yield None, None
            return
        if earlier:
            check_resumed_data(options, earlier)
        yield options, earlier
        run = RunFolder(options.run, command.name, {})
        if folders.is_writer and run.is_trained and not options.keep_checkpoints:
            shutil.rmtree(run.checkpoints_path, ignore_errors=True)


def run_folders(distribute):
    """Returns `RunFolder` or, for several workers, the `SharedRuns` with the same functions."""
    if distribute != "multiworker":
        return RunFolder
    from tfreps.training.workers.worker_runs import SharedRuns

    return SharedRuns()


def check_resumed_data(options, earlier):
    """Raises ValueError if the data, or the number of workers that divide it, have changed."""
    from tfreps.training.workers.data_share import data_share

    share = data_share(options)
    with share.workers.together():
        share.check_resumed(earlier.checkpoints_path)
        check_data(earlier.path, data_files(options), {"train": share.own})


def own_options(command):
    """Returns a dict of the options of a command, except those about the run folder."""
    return {name: option for name, option in command.options.items() if name not in RUN}


def is_length_free(options):
    """Returns True if the learning rate does not depend on the number of epochs or steps."""
    return options.schedule == "constant"


def check_unchanged(run, options, names):
    """Raises a ValueError if an option differs from the option with which a run was trained.

    The run has ended and its checkpoints were removed, so it cannot be trained further. `options`
    are the options of the present command. Only the options whose names are in the set `names` are
    compared.
    """
    now = as_json(vars(options))
    changed = sorted(name for name in names & set(now) if now[name] != run.options.get(name))
    if not changed:
        return
    measure = f", or measure the model with 'tfreps evaluate {run.path} --data FILE'"
    what = f"Omit {as_flag(changed[0])}{measure if 'test' in changed else ''}."
    if LENGTHS & set(changed):
        init = f" or with --init {run.path}" if "init" in now else ""
        what = (
            f"Start a longer run in another folder{init}; a run with --keep-checkpoints can be "
            "resumed for more epochs after it has ended."
        )
    raise ValueError(
        f"{as_flag(changed[0])} cannot change: the run in {run.path} has ended, and its "
        f"checkpoints were removed. {what}"
    )


def data_files(options):
    """Returns the paths of the training data, as a dict from the names of options to lists of str.

    The dict contains those options that name data and are given, such as `"train"`. The paths of an
    option are in the order in which the files are read. With --format folders, the paths are the
    paths of folders.
    """
    found = {}
    for name in TRAINING_DATA:
        given = getattr(options, name, None)
        if not given:
            continue
        if isinstance(given, list) and all(map(os.path.isdir, given)):
            found[name] = sorted(given)
            continue
        try:
            found[name] = find_files(given)
        except ValueError as error:
            where = os.path.join(options.run, "options.json")
            raise ValueError(
                f"{as_flag(name)}: {error} Paths in {where} are relative to the folder in which "
                "the run was started. Resume from that folder, or give the option again, as in "
                f"--resume {as_flag(name)} NEW/PATH."
            ) from error
    return found


def begin_run(command, options, earlier):
    """Creates the run folder of a new run, or sets the options of a resumed run.

    Also sets the command that is shown after a signal. The training data are recorded in the run
    folder unless this was done before. For a resumed run, `fit_epochs` writes the new values of its
    options to the run folder after all checks.

    Returns the `RunFolder`. It is `earlier`, the run to resume, unless `earlier` is `None`.
    """
    stored, unused = vars(options), unused_options(options, own_options(command))
    seeds = getattr(options, "all_seeds", None)  # of a `OneSeed`
    if seeds is not None:
        seeds.begin()
    if earlier is None:
        given = options.run, command.name, stored, options.overwrite, unused
        run = run_folders(options.distribute).create(*given)
    else:
        run = earlier
        run.set_options(stored, unused)
    if run.is_writer and not has_data(run.path):
        record_data(run.path, data_files(options))
    go_on_with(resume_command(seeds.run if seeds else run, options.distribute))
    return run


def resume_command(run, distribute=None) -> str:
    """Returns the command that resumes a run, with --distribute unless `distribute` is `None`."""
    where = f" --distribute {distribute}" if distribute else ""
    return f"tfreps {run.command} --run {shlex.quote(str(run.path))} --resume{where}"
