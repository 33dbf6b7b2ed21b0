"""Options for training on several devices or machines, and their checks."""

import contextlib
import os

from tfreps import __version__
from tfreps.distribute.data_share import DataShare
from tfreps.distribute.strategies import open_strategy
from tfreps.distribute.worker_runs import begin_run_folder, create_on_chief
from tfreps.distribute.workers import Workers

# Environment variable with the time that a worker waits for the others to start, in seconds. The
# default is longer than the delays with which Kubernetes restarts a worker.
WAIT, WAIT_SECONDS = "TFREPS_WORKER_WAIT", 600.0
SAME = "Start all workers with the same version of tfreps and the same options."


def open_workers(options):
    """Opens the strategy of this process and checks that all workers agree.

    All workers must have the same version of tfreps and the same options.

    Args:
        options: namespace of all options of the program.

    Returns:
        `tfreps.distribute.workers.Workers`.

    Raises:
        ValueError: If the strategy cannot be opened, `data_share` raises an error, or another
            worker has a different version or different options.
    """
    workers = data_share(options).workers
    given = {f"--{name.replace('_', '-')}": str(value) for name, value in vars(options).items()}
    workers.check_same({"the version of tfreps": __version__, **given}, SAME)
    return workers


def _wait_seconds():
    text = os.environ.get(WAIT, "")
    try:
        seconds = float(text) if text else WAIT_SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{WAIT} must be a positive number of seconds; got {text!r}.")
    return seconds


def opened(options):
    """Returns the strategy of this process, which is opened at the first call."""
    return open_strategy(options.distribute, _wait_seconds())


def data_share(options):
    """Returns the part of the training data that this worker reads.

    Args:
        options: namespace of all options of the program. A program without `worker_data` reads
            everything.

    Returns:
        `tfreps.distribute.data_share.DataShare`.

    Raises:
        ValueError: If `worker_data` is `"files"` and `distribute` is not `"multiworker"`, or if the
            strategy cannot be opened.
    """
    divided = getattr(options, "worker_data", "rows") == "files"
    if divided and options.distribute != "multiworker":
        number = " and the number of workers that the run was started with" * options.resume
        given = options.distribute and f"got --distribute {options.distribute}"
        raise ValueError(
            f"--worker-data files requires --distribute multiworker{number}; "
            f"{given or '--distribute is not given'}."
        )
    return DataShare(Workers(opened(options)), divided)


def scope(options):
    """Returns the context manager in which the model and its optimizer must be created."""
    return opened(options).scope()


@contextlib.contextmanager
def only_chief_prints(workers):
    """Context manager in which workers other than worker 0 print nothing to standard output."""
    if workers.is_chief:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def check_rows(name, rows, options):
    """Checks that the rows of a batch can be divided equally among the replicas.

    Args:
        name: str. The flag that gives the number of rows.
        rows: int. Number of rows in a global batch.
        options: namespace of all options of the program.

    Raises:
        ValueError: If the number of replicas does not divide the number of rows.
    """
    replicas = opened(options).num_replicas_in_sync
    if rows % replicas:
        raise ValueError(
            f"{name} must be a multiple of {replicas}, the number of replicas; got {rows}. The "
            f"next such number is {rows + -rows % replicas}."
        )


def check_accumulation(steps, options):
    """Checks that gradients are not accumulated on several replicas, which Keras cannot do.

    Args:
        steps: int. Number of batches whose gradients are accumulated for one update.
        options: namespace of all options of the program.

    Raises:
        ValueError: If gradients are accumulated and there are several replicas.
    """
    replicas = opened(options).num_replicas_in_sync
    if steps > 1 and replicas > 1:
        raise ValueError(
            f"--gradient-accumulation-steps must be 1 on {replicas} replicas; got {steps}. "
            "Increase --batch-tokens instead: each replica computes only its rows of a batch."
        )


def begin(workers, options, program, free, defaults):
    """Returns the context manager that checks and locks the run folder; see `begin_run_folder`."""
    return begin_run_folder(workers, options.run, program, vars(options), free, defaults)


def create(options, program, make):
    """Creates the run with the function `make` on worker 0, and opens it on the others."""
    workers = Workers(opened(options))
    return create_on_chief(workers, options.run, program, make)
