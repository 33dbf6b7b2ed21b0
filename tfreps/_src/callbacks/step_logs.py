"""StepLogs: the metrics of a training step, computed over all replicas only when needed."""


class StepLogs(dict):
    """Metrics of one replica after a step, with a function that computes them over all replicas.

    Computing the metrics over the replicas of several machines takes time and requires all machines
    to be at the same step. Callbacks therefore use the metrics of one replica to show progress, and
    compute them over all replicas only to write or check them.
    """

    def __init__(self, logs, exact):
        super().__init__(logs)
        self._compute, self._exact = exact, None

    def exact(self):
        """Returns the metrics over all replicas, which are computed at the first call."""
        if self._exact is None:
            self._exact = self._compute()
        return dict(self._exact)


def exact_logs(logs):
    """Returns the logs that a callback gets, or `None`, as a dict of floats over all replicas."""
    found = logs.exact() if isinstance(logs, StepLogs) else logs or {}
    return {name: float(value) for name, value in found.items()}
