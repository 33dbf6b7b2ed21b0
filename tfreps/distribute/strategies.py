"""open_strategy: creates the strategy with which this process trains."""

import functools
import os

import tensorflow as tf

from tfreps.distribute.cluster import (
    KINDS,
    NAME,
    check_port_is_free,
    read_cluster,
    wait_for_workers,
)


@functools.cache  # a process can have only one strategy
def open_strategy(kind=None, wait_seconds=600.0):
    """Returns the strategy of this process.

    With `"multiworker"`, call this function before TensorFlow runs anything else. It returns when
    all workers have started.

    Args:
        kind: str. `"none"` uses one device. `"mirrored"` uses one replica for each GPU of this
            machine or, if it has none, for each logical CPU device. `"multiworker"` uses the
            workers in the environment variable TF_CONFIG. If `None` (the default), the kind is
            `"mirrored"` if TensorFlow sees more than one GPU, and `"none"` otherwise.
        wait_seconds: float. Time in seconds that `"multiworker"` waits for the other workers to
            start. Defaults to 600.0.

    Returns:
        `tf.distribute.Strategy`.

    Raises:
        ValueError: If the kind is unknown. With `"mirrored"`, if there are fewer than two devices.
            With `"multiworker"`, if TF_CONFIG is missing or not valid, the port of this worker is
            in use, or another worker does not start in time.

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
        return _multiworker(wait_seconds)
    raise ValueError(f"`kind` must be one of {KINDS} or None; got {kind!r}.")


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


def _multiworker(wait_seconds):
    cluster = read_cluster(os.environ)
    if cluster is None:
        raise ValueError(
            f"`distribute`: multiworker needs the environment variable {NAME}, which is not set "
            "or is empty. Start the workers with `tfreps launch`, or set it on each machine."
        )
    check_port_is_free(cluster.address)
    wait_for_workers(cluster, wait_seconds)
    os.environ[NAME] = cluster.as_tf_config()
    return tf.distribute.MultiWorkerMirroredStrategy()
