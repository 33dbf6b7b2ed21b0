"""Starts a pipeline on a runner, and reports why it failed."""

import contextlib
import logging
import os
import re
import sys
import tempfile
import threading

from apache_beam.metrics import MetricsFilter
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import create_runner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from tfreps.serving.annotation import local_worker

LOCAL = "local"  # Beam's runner for one machine, in this process or in worker processes
RUNNERS = LOCAL, "DataflowRunner", "FlinkRunner", "SparkRunner", "PortableRunner", "PrismRunner"
# Messages with which the local runner reports a lost worker.
LOST = "Channel closed prematurely", "Worker subprocess exited"
POLL_SECONDS = 0.2
GRACE_SECONDS = 3.0  # time for Beam to report a lost worker itself


class LostWorkerError(ChildProcessError):
    """Exception for a worker process of the local runner that ended before its work was done."""


def make_runner(name, command=None):
    """Returns the Beam runner with the given name, one of `RUNNERS`.

    `command` is the shell command that starts a worker process of the local runner. If it is
    `None`, the local runner works in this process. Raises a ValueError if the name is unknown or a
    package for the runner is not installed.
    """
    if name not in RUNNERS:
        raise ValueError(f"`runner` must be one of {', '.join(RUNNERS)}; got {name!r}.")
    if name == LOCAL:
        found = command and SubprocessSDKEnvironment.from_command_string(command)
        return FnApiRunner(default_environment=found)
    try:
        return create_runner(name)
    except (ImportError, ValueError) as error:
        raise ValueError(
            f"The runner {name} needs a package that is not installed ({error}). Install the "
            "packages that Beam requires for this runner; for DataflowRunner, run `pip install "
            "'apache-beam[gcp]'`."
        ) from error


def debugs():
    """Returns True if the environment variable TFREPS_DEBUG is set, other than to 0.

    Logs and tracebacks are then printed.
    """
    return os.environ.get("TFREPS_DEBUG", "") not in ("", "0")


@contextlib.contextmanager
def quiet():
    """Context manager that suppresses Beam's log and the tracebacks of its threads.

    It yields a `threading.Event`, which is set if a thread that was started in the context reports
    a lost worker. If the environment variable TFREPS_DEBUG is set, nothing is suppressed.
    """
    lost = threading.Event()
    disabled, hook = logging.root.manager.disable, threading.excepthook
    # Running threads, which may include threads of a pipeline that was abandoned earlier.
    earlier = set(threading.enumerate())

    def on_error(arguments):
        if _is_lost(arguments.exc_value) and arguments.thread not in earlier:
            lost.set()
        if debugs():
            hook(arguments)  # otherwise, the error reaches the caller through the pipeline

    threading.excepthook = on_error
    if not debugs():
        logging.disable(logging.CRITICAL)
    try:
        yield lost
    finally:
        threading.excepthook = hook
        logging.disable(disabled)


def run_pipeline(build, name, workers=1):
    """Builds a pipeline, runs it until it ends, and returns its `PipelineResult`.

    Args:
        build: function that takes a runner and returns the pipeline.
        name: str. Name of the runner.
        workers: int. Number of workers. If greater than 1, the local runner uses worker processes.
            Defaults to 1.

    Raises:
        LostWorkerError: If a worker process of the local runner ended early.
        RuntimeError: If the pipeline failed. Its message is the message of the error in the worker.
    """
    try:
        with quiet() as lost:
            if name == LOCAL and workers > 1:
                state, result = _run_in_processes(build, lost)
            else:
                result = build(make_runner(name)).run()
                state = result.wait_until_finish()
    except LostWorkerError:
        raise
    except Exception as error:
        if _is_lost(error):
            raise LostWorkerError(str(error)) from error
        raise RuntimeError(worker_message(error)) from error
    if state is not None and str(state) not in ("DONE", "PipelineState.DONE"):
        raise RuntimeError(
            f"the pipeline must end in the state DONE; it ended in the state {state}. The log of "
            "the runner contains the reason."
        )
    return result


def _run_in_processes(build, lost):
    """Runs a pipeline in worker processes, and returns its final state and its result.

    The worker processes end before this function returns. Beam waits indefinitely for a lost
    worker, so the pipeline runs in a thread, which is abandoned if the event `lost` is set.
    """
    found = []

    def run(runner):
        try:
            result = build(runner).run()
            found.append((result.wait_until_finish(), result))
        except BaseException as error:
            found.append(error)

    with tempfile.TemporaryDirectory(prefix="tfreps-workers-") as folder:
        runner = make_runner(LOCAL, worker_command(folder))
        thread = threading.Thread(target=run, args=(runner,), daemon=True)
        thread.start()
        while thread.is_alive() and not lost.is_set():
            thread.join(POLL_SECONDS)
        thread.join(GRACE_SECONDS if lost.is_set() else None)
    if not found:
        raise LostWorkerError("a worker process has ended")
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _is_lost(error):
    """Returns True if an error reports a lost worker."""
    return any(text in str(error) for text in LOST)


def worker_command(folder):
    """Returns the shell command that starts a worker process, which ends if `folder` is removed."""
    end = "" if debugs() else f" 2>{os.devnull}"
    return f'"{sys.executable}" -m {local_worker.__name__} "{folder}"{end}'


def worker_message(error):
    """Returns a worker's error message, which Beam's error contains after the worker's traceback.

    Example:
    >>> worker_message(RuntimeError("Trace:\\nOSError: disk full [while running 'A']"))
    'disk full'
    """
    lines = [line for line in str(error).splitlines() if line.strip()]
    found = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b.*: ", line)]
    line = found[-1] if found else (lines[-1] if lines else type(error).__name__)
    line = re.sub(r"\s*\[while running .*", "", line)
    return re.sub(r"^[\w.]+(Error|Exception|Interrupt): ", "", line).strip()[:500]


def counts(result, names):
    """Returns a dict from the names of Beam counters to their values.

    `result` is a `PipelineResult`. A counter that was never incremented has the value 0.
    """
    found = result.metrics().query(MetricsFilter().with_namespace("tfreps"))["counters"]
    return {name: sum(c.result or 0 for c in found if c.key.metric.name == name) for name in names}
