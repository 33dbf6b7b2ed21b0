"""Run folders of several workers: worker 0 writes, and the others only read."""

import atexit
import contextlib
import pathlib
import shutil
import tempfile

from tfreps._src.runs.model_archive import save_archive
from tfreps._src.runs.run_folder import RunFolder

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


@contextlib.contextmanager
def begin_run_folder(workers, path, command, options, may_change, defaults):
    """Context manager that checks the run folder on all workers, and locks it on worker 0.

    It yields the `RunFolder` to resume, or `None` for a new run. `workers` is a `Workers`, and the
    other arguments are passed to `RunFolder.open_for_training`. If a worker has an error, all
    workers raise an error.
    """
    given = path, command, options, may_change, defaults
    with contextlib.ExitStack() as stack:
        earlier = None
        with workers.together():
            if workers.is_chief:
                earlier = stack.enter_context(RunFolder.open_for_training(*given))
            else:
                earlier = WorkerRun.find_run_to_resume(*given)
        workers.check_same({"the run to resume": earlier is not None}, SHARED)
        yield earlier


def create_on_chief(workers, path, command, create):
    """Creates a run folder on worker 0, and opens it as a `WorkerRun` on the other workers.

    If a worker has an error, all workers raise an error.

    Args:
        workers: `Workers`.
        path: str or path-like. Path of the run folder.
        command: str. Name of the command that trains.
        create: function without arguments that creates the run folder and returns a `RunFolder`.

    Returns:
        `RunFolder`, a `WorkerRun` on all workers except worker 0.
    """
    run = None
    with workers.together():
        if workers.is_chief:
            run = create()
    with workers.together():
        if not workers.is_chief:
            try:
                run = WorkerRun.open(path, command)
            except ValueError as error:
                raise ValueError(f"{error} {SHARED}") from error
    return run
