"""Workers: exchanges values between the processes that train one model together."""

import contextlib
import functools
import json
import os

import numpy as np
import tensorflow as tf

from tfreps._src.layers.ops.replicas import replica_number

# Parts of TensorFlow's messages for a collective operation that fails because a worker ended.
LOST = "Collective ops is aborted", "stopped sending heartbeats", "Connection reset by peer"
LOST += ("Socket closed", "connections to all backends failing", "failed to connect to all")


class Workers:
    """The processes of a distribution strategy, which exchange values.

    All processes must call each method, in the same order. If there is only one process, the
    methods return at once.

    Args:
        strategy: `tf.distribute.Strategy`.

    Attributes:
        size: int. Number of workers.
        index: int. Number of this worker.
        is_chief: bool. Whether this is worker 0, which writes the files of a run.

    Example:
    >>> workers = Workers(tf.distribute.get_strategy())
    >>> workers.size, workers.is_chief, workers.any((False, True))
    (1, True, (False, True))
    """

    def __init__(self, strategy):
        self.strategy = strategy
        resolver = strategy.cluster_resolver
        spec = resolver.cluster_spec().as_dict() if resolver else {}
        self.size = max(1, sum(map(len, spec.values())))
        self.index = (resolver.task_id or 0) if self.size > 1 else 0
        self.is_chief = self.index == 0

    def any(self, flags):
        """Returns a tuple of bool: for each flag of a tuple, whether it is `True` on any worker."""
        return tuple(map(bool, self.sum(flags)))

    def raise_together(self, error=None):
        """Raises `error` if it is given, or ValueError if another worker has an error."""
        failed = np.flatnonzero(self.gather(error is not None))
        if error is not None:
            raise error
        if failed.size:
            raise ValueError(
                f"Worker {failed[0]} of {self.size} has stopped with an error, so all workers "
                f"stop. The messages of worker {failed[0]} say why."
            )

    @contextlib.contextmanager
    def together(self):
        """Context manager in which an error of one worker ends all workers.

        A worker whose block raises a ValueError or OSError raises this error at the end of the
        context, and all other workers raise a ValueError. All workers must enter the context.
        """
        error = None
        try:
            yield
        except (ValueError, OSError) as raised:
            error = raised
        self.raise_together(error)

    @contextlib.contextmanager
    def naming_lost_workers(self):
        """Context manager that raises ValueError if another worker has ended during training.

        TensorFlow notices within about 10 seconds that a worker is no longer running.
        """
        try:
            yield
        except tf.errors.OpError as error:
            if self.size == 1 or not any(sign in error.message for sign in LOST):
                raise
            raise ValueError(
                f"Worker {self.index} of {self.size} stopped because another worker has ended or "
                "cannot be reached; the messages of that worker say why. Start all workers again "
                "and resume the run: it continues from its last checkpoint."
            ) from error

    @contextlib.contextmanager
    def only_chief_prints(self):
        """Context manager in which workers other than worker 0 write nothing to standard output."""
        if self.is_chief:
            yield
            return
        with open(os.devnull, "w", encoding="utf-8") as null, contextlib.redirect_stdout(null):
            yield

    def check_same(self, values, expected):
        """Raises ValueError on every worker if a value is not the same on all workers.

        Args:
            values: dict of str -> JSON-serializable value.
            expected: str. End of the error message, which says what to do.
        """
        first, *others = self.gather(values)
        for number, other in enumerate(others, start=1):
            differ = [name for name in {**first, **other} if first.get(name) != other.get(name)]
            if differ:
                own = f" On this worker it is {values[differ[0]]!r}." if differ[0] in values else ""
                raise ValueError(
                    f"Worker {number} of {self.size} and worker 0 must have the same values, but "
                    f"{differ[0]} differs.{own} {expected}"
                )

    def sum(self, numbers):
        """Returns the sums of ints over all workers, an int64 array of the shape of `numbers`."""
        numbers = np.asarray(numbers, "int64")
        if self.size == 1:
            return numbers
        return self._sum(numbers.ravel()).numpy().reshape(numbers.shape)

    def gather(self, value):
        """Returns a list with the `value` of each worker, which must be JSON-serializable."""
        if self.size == 1:
            return [value]
        text = json.dumps(value).encode()
        size = self._rows([len(text)]).max()
        padded = text.ljust(-(-size // 8) * 8)  # JSON ignores spaces at the end
        return [json.loads(row.tobytes()) for row in self._rows(np.frombuffer(padded, "int64"))]

    def _rows(self, row):
        """Returns an int64 matrix `[size, N]`, whose row `r` is the argument of worker `r`."""
        rows = np.zeros([self.size, len(row)], "int64")
        rows[self.index] = row
        return self.sum(rows)

    @functools.cached_property
    def _sum(self):
        strategy = self.strategy
        local = strategy.num_replicas_in_sync // self.size  # number of replicas in each worker

        def once(numbers):
            return tf.where(replica_number() % local == 0, numbers, 0)

        @tf.function(input_signature=[tf.TensorSpec([None], "int64")])  # traced once
        def total(numbers):
            return strategy.reduce("SUM", strategy.run(once, args=(numbers,)), axis=None)

        return total
