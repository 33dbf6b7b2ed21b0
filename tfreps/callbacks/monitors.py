"""Compares the values of a monitored metric, with the modes that Keras uses."""

import math

MODES = "auto", "min", "max"
SMALLER_IS_BETTER = "loss", "perplexity", "error", "mse", "mae", "rmse"
LARGER_IS_BETTER = "accuracy", "acc", "auc", "f1", "precision", "recall"


def check_mode(monitor, mode):
    """Returns `"min"` or `"max"`; with `"auto"`, the name of the metric determines the mode.

    Example:
    >>> check_mode("val_span_f1", "auto"), check_mode("val_perplexity", "auto")
    ('max', 'min')
    """
    if mode not in MODES:
        raise ValueError(f"`mode` must be one of {', '.join(MODES)}; got {mode!r}.")
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


def is_better(value, best, mode):
    """Returns True if a value is better than `best`, or if `best` is `None`. NaN never is better.

    Example:
    >>> is_better(0.5, None, "max"), is_better(0.5, 0.5, "min")
    (True, False)
    """
    sign = 1.0 if mode == "min" else -1.0
    return sign * value < (math.inf if best is None else sign * best)


def short_name(monitor):
    """Returns the name of a metric without the prefix `val_`, as in results, such as `"loss"`."""
    return monitor.removeprefix("val_")
