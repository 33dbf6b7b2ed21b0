"""Runs a command that trains: checks what may change, and opens the run folder."""

import functools
import math
import os
import shlex
import shutil

from tfreps import __version__
from tfreps._src.callbacks.checkpoint_file import list_checkpoints
from tfreps._src.callbacks.stop_signals import go_on_with, stopped_by_signals
from tfreps._src.cli.option_rules import unused_options
from tfreps._src.cli.options import as_flag, as_typed, default_values
from tfreps._src.data.text_files import find_files
from tfreps._src.files.json_files import as_json
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.runs.run_manifest import TRAINING_DATA, check_data, has_data, record_data
from tfreps.training.options.training_options import AUTO, RUN
from tfreps.training.workers.data_share import data_share
from tfreps.training.workers.strategies import open_strategy
from tfreps.training.workers.worker_runs import begin_run_folder, create_on_chief
from tfreps.training.workers.workers import Workers

# Options that may differ when a run is resumed. `LENGTHS` may differ only if the learning rate does
# not depend on the length of the run, and `TRAINING_DATA` only if the files still have the content
# with which the run was started.
MAY_CHANGE = {"time_limit_minutes", "checkpoint_every", "keep_checkpoints"}
LENGTHS = {"epochs", "steps"}


def run_training(command, options, train, may_change=()):
    """Runs a training command: locks its run folder, checks what may change, and calls `train`.

    `train` is called with the options and the run to resume, which is `None` for a new run.
    `may_change` contains the names of options that may differ when a run is resumed, in addition to
    the options in `MAY_CHANGE`. If a signal ends the command, `Stopped` is raised.
    """
    changeable = MAY_CHANGE.union(may_change, LENGTHS if is_length_free(options) else ())
    # `precision.settle` keeps the precision of a resumed run.
    if getattr(options, "precision", None) == AUTO:
        changeable.add("precision")
    if has_data(options.run):
        changeable.update(TRAINING_DATA)
    defaults = default_values(own_options(command))
    share = data_share(options)
    workers = share.workers
    flags = {as_typed(name, command.options): str(v) for name, v in vars(options).items()}
    same = "Start all workers with the same version of tfreps and the same options."
    workers.check_same({"the version of tfreps": __version__, **flags}, same)
    given = options.run, command.name, vars(options), changeable, defaults
    with (
        workers.only_chief_prints(),
        workers.naming_lost_workers(),
        begin_run_folder(workers, *given) as earlier,
        stopped_by_signals(),
    ):
        if earlier is not None:
            if earlier.is_trained and not list_checkpoints(earlier.checkpoints_path):
                check_unchanged(earlier, options, LENGTHS.union(may_change, ["keep_checkpoints"]))
                print(f"The run in {earlier.path} has ended: there is nothing to train.")
                return
            with workers.together():
                share.check_resumed(earlier.checkpoints_path)
                check_data(earlier.path, data_files(options), {"train": share.own})
        train(options, earlier)
        run = RunFolder(options.run, command.name, {})
        if workers.is_chief and run.is_trained and not options.keep_checkpoints:
            shutil.rmtree(run.checkpoints_path, ignore_errors=True)


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
    if earlier is None:
        given = options.run, command.name, stored, options.overwrite, unused
        workers = Workers(open_strategy(options.distribute))
        create = functools.partial(RunFolder.create, *given)
        run = create_on_chief(workers, options.run, command.name, create)
    else:
        run = earlier
        run.set_options(stored, unused)
    if run.is_writer and not has_data(run.path):
        record_data(run.path, data_files(options))
    go_on_with(resume_command(run, options.distribute))
    return run


def resume_command(run, distribute=None) -> str:
    """Returns the command that resumes a run, with --distribute unless `distribute` is `None`."""
    where = f" --distribute {distribute}" if distribute else ""
    return f"tfreps {run.command} --run {shlex.quote(str(run.path))} --resume{where}"


def say_start(run, model, what, step=0):
    """Prints the number of parameters, the run folder, and a command that shows the progress.

    `what` is the end of the printed sentence, such as `": 1,000 steps"`. `step` is the number of
    steps that a resumed run has done, or 0 for a new run.
    """
    total = model.count_params()
    trained = sum(math.prod(weight.shape) for weight in model.trainable_weights)
    parameters = f"{trained:,} of {total:,}" if trained < total else f"{total:,}"
    verb, where = ("Resuming", f" after step {step:,}") if step else ("Training", "")
    print(
        f"{verb} {parameters} parameters in {run.path}{where}{what}.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )
