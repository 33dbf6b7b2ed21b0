"""Scores of two classes: AUC, the best threshold, precision and recall at a threshold."""

from collections.abc import Sequence

import numpy as np

Scores = dict[str, float]


def auc(
    positive: Sequence[bool], scores: Sequence[float], resolution: float | None = None
) -> float:
    """Area under the ROC curve: how often a positive example has the higher score.

        AUC = (pairs with the positive above + half the pairs with equal scores) / pairs

    Args:
        positive: bool or 0/1, whether each example is positive.
        scores: float, as many; the higher, the more positive.
        resolution: float. Scores are rounded to multiples of it first, so that those which differ
            by float rounding alone count as equal. Defaults to None, no rounding.

    Returns:
        float.

    Raises:
        ValueError: only one class, NaN among the scores, different lengths.

    Example:
        >>> from tfreps import reports
        >>> reports.auc([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.4])
        0.875
    """
    positive, scores = _check_scores(positive, scores)
    if resolution is not None:
        scores = np.round(scores / resolution)
    count = int(positive.sum())
    if count in (0, len(positive)):
        raise ValueError(
            f"AUC compares positive with negative examples; of {len(positive)}, {count} are "
            "positive."
        )
    _, which, equal = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(equal) - (equal - 1) / 2  # of each distinct score, ties share the mean
    above = ranks[which][positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(positive) - count)))


def best_threshold(positive: Sequence[bool], scores: Sequence[float]) -> tuple[float, float]:
    """The threshold with the best F1: choose it on dev, apply it to test with `scores_at`.

    Args:
        positive: bool or 0/1, whether each example is positive.
        scores: float, as many.

    Returns:
        float, float: the threshold, which is one of the scores and the largest of the best; and
        the F1 of calling positive whatever reaches it.

    Raises:
        ValueError: no positive example, NaN among the scores, different lengths.

    Example:
        >>> from tfreps import reports
        >>> reports.best_threshold([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.3])
        (0.4, 1.0)
    """
    positive, scores = _check_scores(positive, scores)
    if not positive.any():
        raise ValueError(f"None of {len(positive)} examples is positive: no threshold is best.")
    order = np.argsort(-scores, kind="stable")
    correct = np.cumsum(positive[order])
    f1 = 2 * correct / (np.arange(1, len(scores) + 1) + positive.sum())
    last = np.append(np.diff(scores[order]) != 0, True)  # equal scores are taken together
    best = int(np.argmax(np.where(last, f1, -1.0)))
    return float(scores[order[best]]), float(f1[best])


def scores_at(positive: Sequence[bool], scores: Sequence[float], threshold: float) -> Scores:
    """Precision, recall, F1, support and accuracy of `score >= threshold`.

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
    """Precision, recall, F1 and support of counts; 0 for nothing divided by nothing."""
    return {
        "precision": correct / predicted if predicted else 0.0,
        "recall": correct / true if true else 0.0,
        "f1": 2 * correct / (predicted + true) if predicted + true else 0.0,
        "support": true,
    }


def check_lengths(true: Sequence, pred: Sequence) -> None:
    """Makes sure that there are as many predictions as targets, and at least one."""
    if len(true) != len(pred):
        raise ValueError(
            f"Expected as many predictions as targets; got {len(pred)} and {len(true)}."
        )
    if not len(true):
        raise ValueError("There is nothing to report: no example at all.")


def _check_scores(positive: Sequence[bool], scores: Sequence[float]):
    check_lengths(positive, scores)
    positive = np.asarray(positive)
    scores = np.asarray(scores, np.float64)
    if scores.ndim != 1 or positive.ndim != 1:
        raise ValueError(f"Expected one score per example; got shape {scores.shape}.")
    if not np.isin(positive, (0, 1)).all():
        raise ValueError(f"`positive` must be 0 or 1; got {np.unique(positive)[:5].tolist()}.")
    if np.isnan(scores).any():
        raise ValueError(f"The score of example {int(np.isnan(scores).argmax()) + 1} is NaN.")
    return positive.astype(bool), scores
