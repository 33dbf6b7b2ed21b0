"""Scores of binary classifiers: AUC, best threshold, and precision and recall at a threshold."""

from collections.abc import Sequence

import numpy as np

Scores = dict[str, float]


def auc(positive: Sequence[bool], scores: Sequence[float]) -> float:
    """Computes the area under the ROC curve.

        AUC = (correctly ordered pairs + tied pairs / 2) / pairs

    Each pair consists of a positive and a negative example. It is correctly ordered if the positive
    example has the higher score, and tied if the scores are equal.

    Args:
        positive: Sequence of bool or 0/1. Whether each example is positive.
        scores: Sequence of float of the same length. A higher score means that the example is more
            likely to be positive.

    Returns:
        float in [0, 1]. The area under the curve.

    Raises:
        ValueError: If all examples are of one class, a score is NaN, `positive` has values other
            than 0 and 1, the lengths differ, there are no examples, or `positive` or `scores` does
            not have exactly one axis.

    Example:
        >>> from tfreps import reports
        >>> reports.auc([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.4])
        0.875
    """
    positive, scores = _check_scores(positive, scores)
    count = int(positive.sum())
    if count in (0, len(positive)):
        raise ValueError(
            "`positive` must contain both positive and negative examples for the AUC; "
            f"{count} of {len(positive)} are positive."
        )
    _, which, equal = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(equal) - (equal - 1) / 2  # equal scores share the mean rank
    above = ranks[which][positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(positive) - count)))


def best_threshold(positive: Sequence[bool], scores: Sequence[float]) -> tuple[float, float]:
    """Finds the threshold with the best F1.

    Choose the threshold on the development set, and apply it to the test set with `scores_at`.

    Args:
        positive: Sequence of bool or 0/1. Whether each example is positive.
        scores: Sequence of float of the same length.

    Returns:
        Tuple `(threshold, f1)` of two floats. `threshold` is the largest score with the best F1.
        `f1` is the F1 if examples with `score >= threshold` are predicted as positive.

    Raises:
        ValueError: If there is no positive example, a score is NaN, `positive` has values other
            than 0 and 1, the lengths differ, or `positive` or `scores` does not have exactly one
            axis.

    Example:
        >>> from tfreps import reports
        >>> reports.best_threshold([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.3])
        (0.4, 1.0)
    """
    positive, scores = _check_scores(positive, scores)
    if not positive.any():
        raise ValueError(
            "`positive` must contain a positive example to find the best threshold; none of the "
            f"{len(positive)} examples is positive."
        )
    order = np.argsort(-scores, kind="stable")
    correct = np.cumsum(positive[order])
    f1 = 2 * correct / (np.arange(1, len(scores) + 1) + positive.sum())
    last = np.append(np.diff(scores[order]) != 0, True)  # equal scores have the same prediction
    best = int(np.argmax(np.where(last, f1, -1.0)))
    return float(scores[order[best]]), float(f1[best])


def scores_at(positive: Sequence[bool], scores: Sequence[float], threshold: float) -> Scores:
    """Computes precision, recall, F1, support and accuracy at a threshold.

    Args:
        positive: Sequence of bool or 0/1. Whether each example is positive.
        scores: Sequence of float of the same length.
        threshold: float. Examples with at least this score are predicted as positive.

    Returns:
        A dict with `precision`, `recall`, `f1`, `accuracy` (float) and `support` (int, the number
        of positive examples). 0 / 0 counts as 0.

    Raises:
        ValueError: If a score is NaN, `positive` has values other than 0 and 1, the lengths differ,
            there are no examples, or `positive` or `scores` does not have exactly one axis.

    Example:
        >>> from tfreps import reports
        >>> reports.scores_at([1, 0, 1], [0.9, 0.6, 0.4], threshold=0.5)["f1"]
        0.5
    """
    positive, scores = _check_scores(positive, scores)
    chosen = scores >= threshold
    counts = (positive & chosen).sum(), chosen.sum(), positive.sum()
    return scores_of_counts(*map(int, counts)) | {"accuracy": float((positive == chosen).mean())}


def scores_of_counts(correct: int, predicted: int, true: int) -> Scores:
    """Computes precision, recall, F1 and support from counts; 0 / 0 counts as 0."""
    return {
        "precision": correct / predicted if predicted else 0.0,
        "recall": correct / true if true else 0.0,
        "f1": 2 * correct / (predicted + true) if predicted + true else 0.0,
        "support": true,
    }


def check_lengths(true: Sequence, pred: Sequence) -> None:
    """Checks that targets and predictions have the same length and are not empty."""
    if len(true) != len(pred):
        raise ValueError(
            "`true` and `pred` must have the same length; got "
            f"{len(true)} targets and {len(pred)} predictions."
        )
    if not len(true):
        raise ValueError("`true` and `pred` must contain at least one example; they are empty.")


def _check_scores(positive: Sequence[bool], scores: Sequence[float]):
    positive = np.asarray(positive)
    scores = np.asarray(scores, np.float64)
    for name, array in ("positive", positive), ("scores", scores):
        if array.ndim != 1:
            raise ValueError(
                f"`{name}` must have one axis, with one value per example; got the shape "
                f"{array.shape}."
            )
    if len(positive) != len(scores):
        raise ValueError(
            f"`positive` and `scores` must have the same length; got {len(positive)} and "
            f"{len(scores)} values."
        )
    if not len(positive):
        raise ValueError(
            "`positive` and `scores` must contain at least one example; they are empty."
        )
    if not np.isin(positive, (0, 1)).all():
        raise ValueError(
            f"`positive` must contain only 0 and 1; got {np.unique(positive)[:5].tolist()}."
        )
    if np.isnan(scores).any():
        raise ValueError(
            f"`scores` must not contain NaN; score {int(np.isnan(scores).argmax()) + 1} is NaN."
        )
    return positive.astype(bool), scores
