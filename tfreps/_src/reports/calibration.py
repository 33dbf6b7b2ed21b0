"""Calibration: how closely the confidences of predictions match their accuracy."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfreps._src.reports.binary_scores import check_columns

ROUNDING = 1e-4  # a float32 probability may exceed 1 by less than this


def calibration_error(confidences: ArrayLike, is_right: ArrayLike, bins: int = 15) -> float:
    """Computes the expected calibration error (ECE) of predictions.

        ECE = sum over bins b of n_b / n * |accuracy_b - confidence_b|

    The bins divide [0, 1] into parts of equal width, `(b / bins, (b + 1) / bins]`; 0 is in the
    first bin. `n_b` of the `n` predictions have a confidence in bin `b`, `accuracy_b` is the
    proportion of these predictions that are right, and `confidence_b` is their mean confidence. An
    ECE of 0.05 means that confidences are too high or too low by 5 percentage points on average.

    Args:
        confidences: Sequence of float in [0, 1]. The confidence of each prediction.
        is_right: Sequence of bool or 0/1 of the same length. Whether each prediction is right.
        bins: int. Number of bins. Defaults to 15.

    Returns:
        float in [0, 1]. The ECE; 0 means that confidences and accuracies agree in all bins.

    Raises:
        ValueError: If there are no predictions, the lengths differ, a confidence is NaN or outside
            [0, 1] by more than 0.0001, `is_right` has values other than 0 and 1, `bins` is below 1,
            or `confidences` or `is_right` does not have exactly one axis.

    Reference: Guo et al., 2017, "On Calibration of Modern Neural Networks".

    Example:
        >>> from tfreps import reports
        >>> reports.calibration_error([0.75, 0.75, 0.5], [1, 0, 1])  # 2/3 * 0.25 + 1/3 * 0.5
        0.3333333333333333
    """
    if bins < 1:
        raise ValueError(f"`bins` must be at least 1; got {bins}.")
    shares = np.asarray(confidences, np.float64)
    right = np.asarray(is_right)
    _check(shares, right)
    numbers = np.clip(np.ceil(shares * bins) - 1, 0, bins - 1).astype(int)  # [N]
    gaps = np.bincount(numbers, right.astype(np.float64) - shares, minlength=bins)  # [bins]
    return float(np.abs(gaps).sum() / len(shares))


def format_calibration(results: Mapping[str, Any]) -> str:
    """Returns a line of text with the calibration errors of an evaluation.

    `results` is the dict that `evaluate_tagger` or `evaluate_classifier` returns. A temperature
    other than 1 is added in parentheses.
    """
    error = f"{results['calibration_error']:.4f}"
    if "tokens" in results:
        error += " of tags"
    if "span_calibration_error" in results:
        error += f", {results['span_calibration_error']:.4f} of spans"
    temperature = results["temperature"]
    more = "" if temperature == 1.0 else f" (at temperature {temperature:.4f})"
    return f"expected calibration error: {error}{more}"


def threshold_of_results(results: Mapping[str, Any], temperature: float) -> float | None:
    """Returns the best threshold for a classifier, as measured on the validation data of its run.

    `results` is the content of the run's results.json, and `temperature` is the present temperature
    of the classifier, to which the stored threshold is converted. Returns `None` if results.json
    contains no threshold.
    """
    found = results.get("validation", {})
    if found.get("threshold") is None:
        return None
    return threshold_at(found["threshold"], found.get("temperature", 1.0), temperature)


def threshold_at(threshold: float, temperature: float, new_temperature: float) -> float:
    """Converts a threshold for the probability of a label to another temperature.

        log(t' / (1 - t')) = log(t / (1 - t)) * temperature / new_temperature

    Here `t` is the given threshold, and `t'` is the result, a float. For a classifier with two
    labels, `t'` at `new_temperature` selects the same texts as `t` at `temperature`, up to
    rounding. A threshold outside of (0, 1) is returned unchanged.
    """
    if temperature == new_temperature or not 0 < threshold < 1:
        return threshold
    log_odds = math.log(threshold / (1 - threshold)) * temperature / new_temperature
    return 0.5 + 0.5 * math.tanh(log_odds / 2)


def _check(shares: np.ndarray, right: np.ndarray) -> None:
    check_columns("prediction", confidences=shares, is_right=right)
    outside = ~((shares >= -ROUNDING) & (shares <= 1 + ROUNDING))  # also True for NaN
    if outside.any():
        raise ValueError(
            f"`confidences` must be probabilities from 0 to 1; got {shares[outside.argmax()]}."
        )
    if not np.isin(right, (0, 1)).all():
        raise ValueError(f"`is_right` must contain only 0 and 1; got {np.unique(right)[:5]}.")
