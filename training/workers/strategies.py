"""open_strategy: creates the distribution strategy with which this process trains."""

import functools
import os

import tensorflow as tf

from tfreps.training.workers.cluster import KINDS, NAME, read_cluster, wait_for_workers

# Environment variable with the time that a worker waits for the others to start, in seconds. The
# default is longer than the delays with which Kubernetes restarts a worker.
WAIT, WAIT_SECONDS = "TFREPS_WORKER_WAIT", 600.0


@functools.cache  # cached, because a process can have only one strategy
def open_strategy(kind=None):
    """Returns the `tf.distribute.Strategy` of this process, which is created at the first call.

    For `"multiworker"`, call this function before TensorFlow runs anything else. The function waits
    until all workers have started. The environment variable TFREPS_WORKER_WAIT contains the maximum
    number of seconds to wait (600 by default).

    Args:
        kind: str. `"none"` uses one device. `"mirrored"` uses one replica for each GPU of this
            machine or, if it has none, for each logical CPU device. `"multiworker"` uses the
            workers in the environment variable TF_CONFIG. If `None` (the default), the kind is
            `"mirrored"` if TensorFlow sees more than one GPU, and `"none"` otherwise.

    Raises:
        ValueError: If `kind` or TF_CONFIG is not valid, there are too few devices, or a worker does
            not start in time.

    Example:
    >>> open_strategy("none").num_replicas_in_sync
    1
    """
    if kind is None:
        kind = "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "none"
    if kind == "none":
        return tf.distribute.get_strategy()
    if kind == "mirrored":
        return _mirrored()
    if kind == "multiworker":
        return _multiworker()
    raise ValueError(f"`kind` must be one of {', '.join(KINDS)} or None; got {kind!r}.")


def check_rows(name, rows, strategy):
    """Raises ValueError if the rows of a batch cannot be divided equally among the replicas.

    `name` is the option that sets the number of rows, for the error message.
    """
    replicas = strategy.num_replicas_in_sync
    if rows % replicas:
        raise ValueError(
            f"`{name}` must be a multiple of {replicas}, the number of replicas; got {rows}. The "
            f"next such number is {rows + -rows % replicas}."
        )


def _mirrored():
    gpus = tf.config.list_logical_devices("GPU")
    devices = [device.name for device in gpus or tf.config.list_logical_devices("CPU")]
    if len(devices) < 2:
        raise ValueError(
            "`distribute`: mirrored needs at least two GPUs or, if there is no GPU, at least two "
            f"logical CPU devices; TensorFlow sees {len(gpus)} GPUs. Use none for one device, or "
            "multiworker for several processes."
        )
    return tf.distribute.MirroredStrategy(devices)


def _multiworker():
    cluster = read_cluster(os.environ)
    if cluster is None:
        raise ValueError(
            f"`distribute`: multiworker needs the environment variable {NAME}, which is not set "
            "or is empty. Start the workers with `tfreps launch`, or set this variable on each "
            "machine."
        )
    wait_for_workers(cluster, _wait_seconds())
    os.environ[NAME] = cluster.as_tf_config()
    return tf.distribute.MultiWorkerMirroredStrategy()


def _wait_seconds():
    text = os.environ.get(WAIT, "")
    try:
        seconds = float(text) if text else WAIT_SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{WAIT} must be a positive number of seconds; got {text!r}.")
    return seconds
