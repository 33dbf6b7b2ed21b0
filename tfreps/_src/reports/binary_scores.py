"""Scores of binary classifiers: AUC, best threshold, and precision and recall at a threshold."""

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Scores(TypedDict):
    """Scores of one class, or means over classes. `support` is the number of true examples."""

    precision: float
    recall: float
    f1: float
    support: int


class BinaryScores(Scores):
    """Scores of the positive class, and the accuracy."""

    accuracy: float


class BestThreshold(NamedTuple):
    """Result of `best_threshold`: the threshold with the best F1, and the F1 at this threshold."""

    threshold: float
    f1: float


def auc(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Computes the area under the ROC curve.

        AUC = (correctly ordered pairs + tied pairs / 2) / pairs

    Each pair consists of a positive and a negative example. It is correctly ordered if the positive
    example has the higher score, and tied if the scores are equal.

    Args:
        y_true: Sequence of bool or 0/1. Whether each example is positive.
        y_score: Sequence of float of the same length. A higher score means that the example is more
            likely to be positive.

    Returns:
        float in [0, 1]. The area under the curve.

    Raises:
        ValueError: If all examples are of one class, a score is NaN, `y_true` has values other
            than 0 and 1, the lengths differ, there are no examples, or `y_true` or `y_score` does
            not have exactly one axis.

    Example:
        >>> from tfreps import reports
        >>> reports.auc([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.4])
        0.875
    """
    positive, scores = _check_scores(y_true, y_score)
    count = int(positive.sum())
    if count in (0, len(positive)):
        raise ValueError(
            "`y_true` must contain both positive and negative examples for the AUC; "
            f"{count} of {len(positive)} are positive."
        )
    _, which, equal = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(equal) - (equal - 1) / 2  # equal scores get the mean of their ranks
    above = ranks[which][positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(positive) - count)))


def best_threshold(y_true: ArrayLike, y_score: ArrayLike) -> BestThreshold:
    """Finds the threshold with the best F1.

    Choose the threshold on the validation set, and apply it to the test set with `scores_at`.

    Args:
        y_true: Sequence of bool or 0/1. Whether each example is positive.
        y_score: Sequence of float of the same length.

    Returns:
        `BestThreshold`, a named tuple of two floats. `f1` is the best F1 that any threshold
        reaches, if examples with `score >= threshold` are predicted as positive. `threshold` is the
        largest score with this F1.

    Raises:
        ValueError: If there is no positive example, a score is NaN, `y_true` has values other
            than 0 and 1, the lengths differ, or `y_true` or `y_score` does not have exactly one
            axis.

    Example:
        >>> from tfreps import reports
        >>> reports.best_threshold([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.3])
        BestThreshold(threshold=0.4, f1=1.0)
    """
    positive, scores = _check_scores(y_true, y_score)
    if not positive.any():
        raise ValueError(
            "`y_true` must contain a positive example to find the best threshold; none of the "
            f"{len(positive)} examples is positive."
        )
    order = np.argsort(-scores, kind="stable")
    correct = np.cumsum(positive[order])
    f1 = 2 * correct / (np.arange(1, len(scores) + 1) + positive.sum())
    # True at the last of equal scores, which have the same prediction.
    last = np.append(np.diff(scores[order]) != 0, True)
    best = int(np.argmax(np.where(last, f1, -1.0)))
    return BestThreshold(float(scores[order[best]]), float(f1[best]))


def scores_at(y_true: ArrayLike, y_score: ArrayLike, threshold: float) -> BinaryScores:
    """Computes precision, recall, F1, support and accuracy at a threshold.

    Args:
        y_true: Sequence of bool or 0/1. Whether each example is positive.
        y_score: Sequence of float of the same length.
        threshold: float. Examples with at least this score are predicted as positive.

    Returns:
        A dict with `precision`, `recall`, `f1`, `accuracy` (float) and `support` (int, the number
        of positive examples). 0 / 0 counts as 0.

    Raises:
        ValueError: If a score is NaN, `y_true` has values other than 0 and 1, the lengths differ,
            there are no examples, or `y_true` or `y_score` does not have exactly one axis.

    Example:
        >>> from tfreps import reports
        >>> reports.scores_at([1, 0, 1], [0.9, 0.6, 0.4], threshold=0.5)["f1"]
        0.5
    """
    positive, scores = _check_scores(y_true, y_score)
    chosen = scores >= threshold
    counts = (positive & chosen).sum(), chosen.sum(), positive.sum()
    scores = scores_of_counts(*map(int, counts))
    return {**scores, "accuracy": float((positive == chosen).mean())}


def scores_of_counts(correct: int, predicted: int, true: int) -> Scores:
    """Computes precision, recall and F1 from numbers of examples; 0 / 0 counts as 0.

    Args:
        correct: int. Number of examples of the class that are predicted as this class.
        predicted: int. Number of examples that are predicted as this class.
        true: int. Number of examples of the class.

    Returns:
        `Scores`, a dict with `precision`, `recall`, `f1` (float) and `support`, which is `true`.
    """
    return {
        "precision": correct / predicted if predicted else 0.0,
        "recall": correct / true if true else 0.0,
        "f1": 2 * correct / (predicted + true) if predicted + true else 0.0,
        "support": true,
    }


def check_lengths(y_true: Sequence[object], y_pred: Sequence[object]) -> None:
    """Raises a ValueError if targets and predictions differ in length or are empty."""
    if len(y_true) != len(y_pred):
        raise ValueError(
            "`y_true` and `y_pred` must have the same length; got "
            f"{len(y_true)} targets and {len(y_pred)} predictions."
        )
    if not len(y_true):
        raise ValueError("`y_true` and `y_pred` must contain at least one example; they are empty.")


def _check_scores(
    y_true: ArrayLike, y_score: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Converts `y_true` to a bool array and `y_score` to a float64 array, both `[N]`.

    Raises a ValueError if one of them is not valid, as the public functions of this file describe.
    """
    labels = np.asarray(y_true)
    scores = np.asarray(y_score, np.float64)
    check_columns("example", y_true=labels, y_score=scores)
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(
            f"`y_true` must contain only 0 and 1; got {np.unique(labels)[:5].tolist()}."
        )
    if np.isnan(scores).any():
        raise ValueError(
            f"`y_score` must not contain NaN; score {int(np.isnan(scores).argmax()) + 1} "
            "(counted from 1) is NaN."
        )
    return labels.astype(bool), scores


def check_columns(item: str, **columns: np.ndarray) -> None:
    """Raises a ValueError unless the two arrays have one axis, and the same length above 0.

    `item` is what has one value in each array, such as `"example"`.
    """
    for name, array in columns.items():
        if array.ndim != 1:
            raise ValueError(
                f"`{name}` must have one axis, with one value per {item}; got the shape "
                f"{array.shape}."
            )
    names = " and ".join(f"`{name}`" for name in columns)
    first, second = map(len, columns.values())
    if first != second:
        raise ValueError(f"{names} must have the same length; got {first} and {second} values.")
    if not first:
        raise ValueError(f"{names} must contain at least one {item}; they are empty.")
