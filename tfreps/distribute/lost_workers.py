"""naming_lost_workers: raises a clear error when another worker has ended."""

import contextlib

import tensorflow as tf

# TensorFlow's words when a collective operation cannot end because another worker has.
SIGNS = "Collective ops is aborted", "stopped sending heartbeats", "Connection reset by peer"
SIGNS += ("Socket closed", "connections to all backends failing", "failed to connect to all")


class LostWorker(ValueError):
    """Error raised when another worker has ended or cannot be reached."""


@contextlib.contextmanager
def naming_lost_workers(workers):
    """Context manager that raises `LostWorker` if another worker has ended during training.

    TensorFlow notices within about 10 seconds that a worker is no longer running.

    Args:
        workers: `Workers`.

    Raises:
        LostWorker: If TensorFlow reports that another worker has ended or cannot be reached.
    """
    try:
        yield
    except tf.errors.OpError as error:
        if workers.size == 1 or not any(sign in error.message for sign in SIGNS):
            raise
        raise LostWorker(
            f"Worker {workers.index} of {workers.size} stopped because another worker has ended or "
            "cannot be reached; the messages of that worker say why. Start all workers again and "
            "resume the run: it continues from its last checkpoint."
        ) from error
