"""Run folders of several workers: worker 0 writes, and the others only read."""

import atexit
import contextlib
import pathlib
import shutil
import tempfile

from tfreps import __version__
from tfreps._src.runs.model_archive import save_archive
from tfreps._src.runs.run_folder import RunFolder
from tfreps.training.workers.strategies import open_strategy
from tfreps.training.workers.workers import Workers

SAME = "Start all workers with the same version of tfreps and the same options."
SHARED = (
    "The run folder must be on a disk that all workers share. Give each worker a path that leads "
    "to this folder on its own machine."
)


class WorkerRun(RunFolder):
    """Run folder for all workers except worker 0; nothing is written into the folder.

    Logs and plots are written to a temporary folder. A model is also saved there and deleted at
    once: saving reads variables that are spread over the workers, so all workers must take part.
    The arguments are the same as for `RunFolder`.
    """

    is_writer = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._scratch = tempfile.mkdtemp(prefix="tfreps-worker-")
        atexit.register(shutil.rmtree, self._scratch, ignore_errors=True)
        self.logs_path = pathlib.Path(self._scratch, "logs")
        self.plots_path = pathlib.Path(self._scratch, "plots")

    def write_asset(self, path, write):
        """Does nothing, because worker 0 writes the file."""

    def write_options(self):
        """Does nothing, because worker 0 writes the options."""

    def write_results(self, results):
        """Does nothing, because worker 0 writes the results."""

    def save_model(self, model):
        """Saves the model to a temporary file, because all workers must take part in saving."""
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            save_archive(model, pathlib.Path(folder, "model.keras"))


class SharedRuns:
    """Functions of `RunFolder` that open a run folder on all workers of this process's cluster.

    If a worker has an error, all workers raise an error.
    """

    def __init__(self):
        self.workers = Workers(open_strategy("multiworker"))
        self.is_writer = self.workers.is_chief

    @contextlib.contextmanager
    def open_for_training(self, path, command, options, may_change, defaults):
        """Context manager in which worker 0 has locked the run folder, and only worker 0 prints.

        It yields the run to resume, or `None` for a new run.
        """
        values = {f"`{name}`": str(value) for name, value in options.items()}
        self.workers.check_same({"the version of tfreps": __version__, **values}, SAME)
        given = path, command, options, may_change, defaults
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.workers.only_chief_prints())
            stack.enter_context(self.workers.naming_lost_workers())
            with self.workers.together():
                if self.is_writer:
                    earlier = stack.enter_context(RunFolder.open_for_training(*given))
                else:
                    earlier = WorkerRun.find_run_to_resume(*given)
            self.workers.check_same({"the run to resume": earlier is not None}, SHARED)
            yield earlier

    def create(self, path, command, *given):
        """Creates a run folder on worker 0, and opens it as a `WorkerRun` on the other workers."""
        with self.workers.together():
            run = RunFolder.create(path, command, *given) if self.is_writer else None
        with self.workers.together():
            if run is None:
                try:
                    run = WorkerRun.open(path, command)
                except ValueError as error:
                    raise ValueError(f"{error} {SHARED}") from error
        return run
