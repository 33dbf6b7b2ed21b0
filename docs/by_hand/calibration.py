"""Calibration in plain NumPy: reliability bins and the temperature; spans.md explains them."""

import numpy as np

from docs.by_hand.crf import log_sum_exp


def reliability(confidences, is_right, num_bins):
    """Returns a triple for each bin that is not empty: number, mean confidence and accuracy.

    Bin b holds the predictions with b / num_bins < confidence <= (b + 1) / num_bins.
    """
    found = []
    for b in range(num_bins):
        chosen = []
        for confidence, right in zip(confidences, is_right, strict=True):
            if b / num_bins < confidence <= (b + 1) / num_bins or b == confidence == 0:
                chosen.append((confidence, right))
        if chosen:
            confidence, accuracy = np.mean(chosen, axis=0, dtype="float64")
            found.append((len(chosen), confidence, accuracy))
    return found


def calibration_error(confidences, is_right, num_bins):
    """ECE = sum over bins of number / total * |accuracy - mean confidence|."""
    error = 0.0
    for number, confidence, accuracy in reliability(confidences, is_right, num_bins):
        error += number / len(confidences) * abs(accuracy - confidence)
    return error


def negative_log_likelihood(temperature, sentences):
    """NLL(T) = sum over sentences of log sum_y exp(score(y) / T) - score(target) / T.

    Each sentence is a pair: a dict from all paths to their scores, and the target path.
    """
    total = 0.0
    for scores, target in sentences:
        total += log_sum_exp(value / temperature for value in scores.values())
        total -= scores[target] / temperature
    return total


def slope(temperature, sentences):
    """d NLL / d (1/T) = sum over sentences of expected score at the temperature - score(target)."""
    total = 0.0
    for paths, target in sentences:
        scores = np.array([value for value in paths.values() if value > -np.inf])
        p = np.exp(scores / temperature - log_sum_exp(scores / temperature))  # sums to 1
        total += (p * scores).sum() - paths[target]
    return total


def fit_temperature(sentences, low=0.01, high=100.0):
    """Returns the T with the lowest NLL(T), by bisection of the interval on a scale of log T."""
    for _ in range(50):
        middle = np.sqrt(low * high)
        if slope(middle, sentences) > 0:  # a higher temperature has a lower NLL
            low = middle
        else:
            high = middle
    return middle
