"""Tests whether two systems differ on the same sentences, from counts of each sentence."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tfreps._src.files.argument_checks import check_integers

CHUNK = 2**18  # maximum number of draws in memory, unless there are more sentences
ROUNDING = 1e-12  # differences between scores that are smaller than this count as equal
INTERVAL = (0.025, 0.975)  # quantiles of the differences, which limit the 95% interval
Floats = NDArray[np.float64]
ScoreFunction = Callable[[Floats], Mapping[str, Floats]]


class PairedTest(TypedDict):
    """Scores of two systems, their difference, its 95% interval, and p-values of two tests."""

    first: float
    second: float
    difference: float
    low: float
    high: float
    bootstrap_p: float
    randomization_p: float


def paired_tests(
    first: ArrayLike, second: ArrayLike, scores: ScoreFunction, samples: int = 10_000, seed: int = 0
) -> dict[str, PairedTest]:
    """Tests whether two systems differ significantly on the same sentences.

    The scores are functions of counts that are summed over sentences, such as F1. Two tests sample
    the difference `d` = score of the second system - score of the first system:

    - Paired bootstrap (Koehn, 2004). A sample consists of N sentences that are drawn with
      replacement, and both systems are scored on the same sentences. The two-sided p-value is

          p = min(1, 2 * (1 + min(samples with d <= 0, samples with d >= 0)) / (1 + samples))

      `low` and `high` are the 2.5% and 97.5% quantiles of `d` in the samples.
    - Approximate randomization (Noreen, 1989; Yeh, 2000). In a sample, the outputs of the two
      systems are swapped in each sentence with probability 1/2. The two-sided p-value is

          p = (1 + samples with abs(d) >= abs(d of the original outputs)) / (1 + samples)

    Both tests take sentences as independent, and measure only the variation that comes from the
    choice of test sentences. They do not measure how the scores vary over random seeds of training.
    To compare the mean scores of two methods over K seeds each, pass counts `[N, K, ...]`, and a
    function `scores` that returns the means over K.

    If many systems are compared, require smaller p-values, such as 0.05 / number of comparisons.

    Args:
        first: Array of shape `[N, ...]` with the counts of the first system in each of N
            sentences, as returned by `span_counts` or `label_counts`.
        second: Array of the same shape with the counts of the second system.
        scores: Function from summed counts, float64 `[S, ...]` for S samples, to a dict from names
            to scores, float64 `[S]`, such as `span_scores` or `label_scores`.
        samples: int. Number of samples of each test. Defaults to 10,000.
        seed: int. Seed of the random numbers. Defaults to 0.

    Returns:
        dict from the name of each score to a dict with the float values `first`, `second`,
        `difference`, `low`, `high`, `bootstrap_p` and `randomization_p`.

    Raises:
        ValueError: If the shapes of the counts differ, if there are no sentences, if `samples` is
            below 1, or if `seed` is negative.

    References:
        - Koehn, 2004, "Statistical Significance Tests for Machine Translation Evaluation".
        - Noreen, 1989, "Computer-Intensive Methods for Testing Hypotheses".
        - Yeh, 2000, "More accurate tests for the statistical significance of result differences".
        - Dror et al., 2018, "The Hitchhiker's Guide to Testing Statistical Significance in Natural
          Language Processing".

    Example:
        >>> from tfreps import reports
        >>> y_true = [["B-X", "O"], ["B-Y", "I-Y"], ["B-X", "B-Y"]]
        >>> first = reports.span_counts(y_true, [["B-X", "O"], ["B-Y", "O"], ["O", "O"]], "bio")
        >>> second = reports.span_counts(y_true, y_true, "bio")
        >>> f1 = reports.paired_tests(first, second, reports.span_scores, samples=1000)["f1"]
        >>> round(f1["first"], 4), f1["second"], f1["randomization_p"] > 0.4
        (0.3333, 1.0, True)
    """
    check_integers(1, samples=samples)
    check_integers(0, seed=seed)
    ours, theirs = np.asarray(first, np.float64), np.asarray(second, np.float64)  # [N, ...]
    if ours.shape != theirs.shape or ours.ndim < 2 or not len(ours):
        raise ValueError(
            "`first` and `second` must have the same shape, with one row of counts for each of at "
            f"least one sentence; got the shapes {ours.shape} and {theirs.shape}."
        )
    original = _differences(scores, ours.sum(0)[None], theirs.sum(0)[None])
    rng = np.random.default_rng(seed)
    resampled = _joined(scores, _resampled(rng, ours, theirs, samples))
    swapped = _joined(scores, _swapped(rng, ours, theirs, samples))
    found: dict[str, PairedTest] = {}
    for name, ([before], [after], [difference]) in original.items():
        drawn, random = resampled[name], swapped[name]  # [samples]
        side = min((drawn <= ROUNDING).sum(), (drawn >= -ROUNDING).sum())
        extreme = (np.abs(random) >= abs(difference) - ROUNDING).sum()
        low, high = np.quantile(drawn, INTERVAL)
        found[name] = {
            "first": float(before),
            "second": float(after),
            "difference": float(difference),
            "low": float(low),
            "high": float(high),
            "bootstrap_p": min(1.0, float(2 * (1 + side) / (1 + samples))),
            "randomization_p": float((1 + extreme) / (1 + samples)),
        }
    return found


def _resampled(
    rng: np.random.Generator, ours: Floats, theirs: Floats, samples: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yields the summed counts of both systems, `[S, ...]` each, in bootstrap samples.

    The draws do not depend on the sizes of the chunks.
    """
    number = len(ours)
    for size in _sizes(number, samples):
        drawn = rng.integers(number, size=(size, number)) + number * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * number).reshape(size, number)  # [S, N]
        yield _weighted_sums(times, ours), _weighted_sums(times, theirs)


def _swapped(
    rng: np.random.Generator, ours: Floats, theirs: Floats, samples: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yields the summed counts of both systems, `[S, ...]` each, after random swaps of sentences.

    The draws do not depend on the sizes of the chunks.
    """
    for size in _sizes(len(ours), samples):
        is_swapped = rng.random((size, len(ours))) < 0.5  # [S, N]
        moved = _weighted_sums(is_swapped, theirs - ours)  # [S, ...]
        yield ours.sum(0) + moved, theirs.sum(0) - moved


def _sizes(number: int, samples: int) -> Iterator[int]:
    """Yields the numbers of samples in each chunk, for samples of `number` sentences."""
    most = max(1, CHUNK // number)
    for start in range(0, samples, most):
        yield min(most, samples - start)


def _weighted_sums(weights: NDArray[Any], counts: Floats) -> Floats:
    """Returns the sums over sentences, `[S, ...]`, of weights `[S, N]` times counts `[N, ...]`."""
    sums = weights.astype(np.float64) @ counts.reshape(len(counts), -1)
    return sums.reshape(len(weights), *counts.shape[1:])


def _differences(
    scores: ScoreFunction, ours: Floats, theirs: Floats
) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Returns the scores of both systems and their difference, `[S]` each, under their names."""
    before, after = scores(ours), scores(theirs)
    return {name: (before[name], after[name], after[name] - before[name]) for name in before}


def _joined(scores: ScoreFunction, chunks: Iterator[tuple[Floats, Floats]]) -> dict[str, Floats]:
    """Returns the difference of each score in all samples of the chunks."""
    parts = [_differences(scores, *chunk) for chunk in chunks]
    return {name: np.concatenate([part[name][2] for part in parts]) for name in parts[0]}
