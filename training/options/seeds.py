"""train_seeds: trains one run, or a run for each of several random seeds and a report on them."""

import shlex
import types

from tfreps._src.cli.option_rules import unused_options
from tfreps._src.cli.options import default_values
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.runs.seed_folders import seed_folder
from tfreps.training.options.training_command import opened_run, own_options


class OneSeed(types.SimpleNamespace):
    """Options of the run of one seed. `all_seeds`, which is not stored, is the `AllSeeds`."""

    __slots__ = ("all_seeds",)


class AllSeeds:
    """Folder with the runs of several seeds.

    Args:
        command: `Command` of the options.
        options: Namespace of the options, with all defaults.
        earlier: `RunFolder` to resume, or `None` for new runs.
    """

    def __init__(self, command, options, earlier):
        self.command, self.options = command, options
        self.is_new = earlier is None
        self.run = earlier or RunFolder(options.run, command.name, {})

    def begin(self):
        """Writes the options into the folder, once, as soon as the first run has read its data."""
        if self.is_new:
            unused = unused_options(self.options, own_options(self.command))
            given = self.options.run, self.command.name, vars(self.options), self.options.overwrite
            self.run = RunFolder.create(*given, unused)
            self.is_new = False

    def options_of(self, seed, set_defaults):
        """Returns the options of the run of a seed, those in its folder if it has been started."""
        path = seed_folder(self.run.path, seed)
        if self.options.resume and (path / "options.json").exists():
            own = self.command.parse(["--run", str(path), "--resume"])
            set_defaults(own)
            more = {"distribute": self.options.distribute}
        else:
            own, more = self.options, {"run": str(path), "seed": seed, "seeds": None}
        found = OneSeed(**{**vars(own), **more})
        found.all_seeds = self
        return found


def train_seeds(command, train, argv, set_defaults, may_change):
    """Runs a training command: trains one run or, with --seeds, a run for each seed.

    All runs are trained in this process, so that their output and signals need not be passed on.
    The state of Keras is cleared before each of them, which frees the previous model. Therefore, a
    run is the same as that of a command with --seed, which a test checks.

    Args:
        command: `Command` of the options.
        train: function from the options and the run to resume, which trains a run.
        argv: list of str. The arguments of the command, as in `Command.parse`.
        set_defaults: function that sets further defaults in the parsed options.
        may_change: names of options that may differ when a run is resumed.
    """
    with command.started(argv) as options:
        import keras  # imported here, so that errors in options are printed at once

        set_defaults(options)
        if options.seeds is None:
            train_one(command, train, options, may_change)
            return
        given = options.run, command.name, vars(options), ["seeds"]
        defaults = default_values(own_options(command))
        with RunFolder.open_for_training(*given, defaults) as earlier:
            if earlier:
                resume_seeds(earlier, options)
            seeds = AllSeeds(command, options, earlier)
            for seed in options.seeds:
                print(f"Seed {seed}:", flush=True)
                keras.backend.clear_session()
                own = seeds.options_of(seed, set_defaults)
                train_one(command, train, own, may_change)
                print()
            report(seeds.run, options)


def train_one(command, train, options, may_change):
    with opened_run(command, options, may_change) as (own, earlier):
        if own is not None:
            train(own, earlier)


def resume_seeds(run, options):
    """Stores the seeds of a resumed command; raises a ValueError if the run has a single seed."""
    if not run.options.get("seeds"):
        raise ValueError(
            f"--seeds cannot be used with the run in {run.path}, which was started with one seed. "
            "Omit --seeds, or start the runs in another folder."
        )
    run.set_options(vars(options), run.unused)
    run.write_options()


def report(run, options):
    """Writes the mean and the spread of the metrics to results.json, and prints them."""
    from tfreps._src.reports.seed_reports import format_seeds, summarize_seeds

    paths = [seed_folder(run.path, seed) for seed in options.seeds]
    results = summarize_seeds([RunFolder.open(path).results() for path in paths])
    run.write_results({"seeds": options.seeds, **results})
    numbers = ", ".join(map(str, options.seeds))
    print(f"{len(paths)} seeds ({numbers}); std is the sample standard deviation.")
    for part, scores in results.items():
        print(f"\n{format_seeds(part, scores)}")
    folder = shlex.quote(str(run.path))
    print(
        f"\nWrote {run.results_path}.\n"
        f"Next: tfreps plot curves {folder} --output FILE.png, or tfreps evaluate "
        f"{shlex.quote(str(paths[0]))} --data FILE."
    )
