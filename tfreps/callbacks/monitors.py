"""is_better: compares values of a monitored metric, in Keras's modes."""

import math

MODES = "auto", "min", "max"
SMALLER_IS_BETTER = "loss", "perplexity", "error", "mse", "mae", "rmse"
LARGER_IS_BETTER = "accuracy", "acc", "auc", "f1", "precision", "recall"


def check_mode(monitor, mode):
    """Returns `"min"` or `"max"`; in `"auto"` the name of the metric decides.

    Args:
        monitor: str. Name of a metric as in the logs of `fit`, such as `"val_loss"`.
        mode: str. `"min"`, `"max"` or `"auto"`.

    Raises:
        ValueError: the mode is none of these, or the name does not tell.

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
        f'`mode="auto"` cannot tell whether {monitor!r} should be small or large: '
        'give `mode="min"` or `mode="max"`.'
    )


def is_better(value, best, mode):
    """Whether a value is better than the best so far; NaN never is.

    Args:
        value: float.
        best: float; None where there is none yet.
        mode: str. `"min"` or `"max"`.

    Example:
    >>> is_better(0.5, None, "max"), is_better(0.5, 0.5, "min")
    (True, False)
    """
    sign = 1.0 if mode == "min" else -1.0
    return sign * value < (math.inf if best is None else sign * best)


def short_name(monitor):
    """The name of the metric itself, as it is in results: `"val_loss"` -> `"loss"`."""
    return monitor.removeprefix("val_")
