"""Compares the values of a monitored metric, with the modes that Keras uses."""

import math
from typing import Literal

from tfreps._src.files.argument_checks import check_choice

MODES = "auto", "min", "max"
MonitorMode = Literal["auto", "min", "max"]
Direction = Literal["min", "max"]
SMALLER_IS_BETTER = "loss", "perplexity", "error", "mse", "mae", "rmse"
LARGER_IS_BETTER = "accuracy", "acc", "auc", "f1", "precision", "recall"


def check_mode(monitor: str, mode: MonitorMode) -> Direction:
    """Returns `"min"` if lower values of the metric `monitor` are better, otherwise `"max"`.

    Any other `mode` than `"auto"` is returned unchanged.

    Raises:
        ValueError: If `mode` is unknown, or is `"auto"` and the name of the metric does not
            determine the result.
    """
    check_choice(MODES, mode=mode)
    if mode != "auto":
        return mode
    if monitor.endswith(SMALLER_IS_BETTER):
        return "min"
    if monitor.endswith(LARGER_IS_BETTER):
        return "max"
    raise ValueError(
        f'`mode="auto"` cannot infer whether smaller or larger values of {monitor!r} are better. '
        'Pass `mode="min"` or `mode="max"`.'
    )


def is_better(value: float, best: float | None, mode: Direction) -> bool:
    """Returns True if `value` is lower (`"min"`) or higher (`"max"`) than `best`.

    Any finite number is better than a `best` of `None`. NaN is never better.
    """
    sign = 1.0 if mode == "min" else -1.0
    return sign * value < (math.inf if best is None else sign * best)


def short_name(monitor: str) -> str:
    """Returns the name of a metric without the prefix `val_`: `"loss"` for `"val_loss"`."""
    return monitor.removeprefix("val_")
