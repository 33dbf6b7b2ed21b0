"""StepLogs: the metrics of a training step, computed over all replicas only when needed."""

from collections.abc import Callable, Mapping
from typing import Any

Logs = Mapping[str, Any]  # metrics by name, as Keras passes them to callbacks


class StepLogs(dict[str, Any]):
    """Metrics of one replica after a step, with a function that computes them over all replicas.

    Computing the metrics over the replicas of several machines takes time and requires all machines
    to be at the same step. Callbacks therefore use the metrics of one replica to show progress, and
    compute them over all replicas only to write or check them.
    """

    def __init__(self, logs: Logs, exact: Callable[[], dict[str, float]]) -> None:
        super().__init__(logs)
        self._compute = exact
        self._exact: dict[str, float] | None = None

    def exact(self) -> dict[str, float]:
        """Returns the metrics over all replicas as a dict; computes them only in the first call."""
        if self._exact is None:
            self._exact = self._compute()
        return dict(self._exact)


def exact_logs(logs: Logs | None) -> dict[str, float]:
    """Returns the metrics in `logs`, computed over all replicas, as a dict of floats.

    The dict is empty if `logs` is `None`.
    """
    found = logs.exact() if isinstance(logs, StepLogs) else logs or {}
    return {name: float(value) for name, value in found.items()}
