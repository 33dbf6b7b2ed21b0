"""Splits labeled examples by label and describes how balanced the labels are."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

import numpy as np

from tfreps._src.files.argument_checks import check_integers


def stratified_split(
    labels: Sequence[Hashable],
    fraction: float,
    seed: int = 0,
    singletons: Literal["error", "keep"] = "error",
) -> tuple[list[int], list[int]]:
    """Splits examples into two parts, so that every label keeps its share to within one example.

    The second part has `round(fraction * N)` examples (halves are rounded up). It takes
    `fraction * n` examples, rounded down, from each label with n examples, and one more from each
    of the labels with the largest remainders. Every label with at least two examples is in both
    parts, and a label with one example is only in the first part, even if this changes the size of
    the second part. The same labels, fraction and seed give the same split on any machine. For a
    split that is not stratified, pass the same label for every example.

    Args:
        labels: sequence of hashable objects. Label of each example.
        fraction: float in (0, 1). Share of the examples in the second part.
        seed: int, non-negative. Random seed. Defaults to 0.
        singletons: str. Treatment of a label with only one example: `"error"` raises an error, and
            `"keep"` puts the example in the first part. Defaults to `"error"`.

    Returns:
        tuple of two lists of int. Positions of the examples in the first part (such as a training
        set) and in the second part (such as a validation set), each in ascending order.

    Raises:
        ValueError: If a label has only one example and `singletons` is `"error"`; there are fewer
            than two examples; `singletons` is not one of the values above; or `fraction` or `seed`
            is out of range.

    Example:
        >>> from tfreps.data import stratified_split
        >>> labels = ["good", "bad", "good", "bad", "good", "good"]
        >>> train, validation = stratified_split(labels, 1 / 3)
        >>> sorted(labels[position] for position in validation), len(train)
        (['bad', 'good'], 4)
    """
    if not 0 < fraction < 1:
        raise ValueError(f"`fraction` must be in (0, 1); got {fraction}.")
    check_integers(0, seed=seed)
    if singletons not in ("error", "keep"):
        raise ValueError(f'`singletons` must be "error" or "keep"; got {singletons!r}.')
    if len(labels) < 2:
        raise ValueError(
            f"`labels` must contain at least two examples to be split; got {len(labels)}."
        )
    positions: dict[Hashable, list[int]] = {}
    for position in _permutation(len(labels), seed):
        positions.setdefault(labels[position], []).append(position)
    if singletons == "error":
        _check_singletons(positions, fraction)
    counts = {label: len(own) for label, own in positions.items()}
    taken = _shares(dict(sorted(counts.items(), key=lambda item: str(item[0]))), fraction)
    part = [position for label, own in positions.items() for position in own[: taken[label]]]
    rest = set(range(len(labels))).difference(part)
    return sorted(rest), sorted(part)


def label_counts(labels: Sequence[Hashable]) -> dict[Hashable, int]:
    """Counts the examples of each label.

    Args:
        labels: sequence of hashable objects. Label of each example.

    Returns:
        dict that maps each label to its number of examples, sorted by descending number and
        then by name.

    Example:
        >>> from tfreps.data import label_counts
        >>> label_counts(["1", "0", "2", "1"])
        {'1': 2, '0': 1, '2': 1}
    """
    return dict(sorted(Counter(labels).items(), key=lambda item: (-item[1], str(item[0]))))


def describe_labels(labels: Sequence[Hashable], longest: int = 20) -> str:
    """Describes the distribution of examples over labels as text.

    The text has one line per label with the number and share of its examples. If the most frequent
    label has at least 1.5 times as many examples as the rarest, a sentence states the accuracy of
    always predicting the most frequent label, which a classifier has to exceed. The text ends with
    a warning if a label has only one example, and with another if the most frequent label has at
    least ten times as many examples as the rarest.

    Args:
        labels: sequence of hashable objects, not empty. Label of each example.
        longest: int, positive. Maximum number of labels listed; the others are summarized in one
            line. Defaults to 20.

    Returns:
        str. The description, without a final line feed.

    Raises:
        ValueError: If there are no examples.

    Example:
        >>> from tfreps.data import describe_labels
        >>> print(describe_labels(["good"] * 30 + ["bad"] * 10))
        40 examples of 2 labels:
          good  30   75.0%
          bad   10   25.0%
        The most frequent label has 3.0 times as many examples as the rarest. Always predicting
        'good' gives an accuracy of 75.0%.
    """
    if not labels:
        raise ValueError("`labels` must have at least one example; got none.")
    counts = label_counts(labels)
    total = len(labels)
    listed = list(counts.items())[:longest]
    width = max(len(str(label)) for label, _ in listed)
    digits = len(f"{listed[0][1]:,}")
    largest, most = listed[0]
    fewest = min(counts.values())
    lines = [f"{total:,} example{'s' * (total > 1)} of {_num_labels(len(counts))}:"]
    for label, count in listed:
        share = f"{100 * count / total:5.1f}%"
        lines.append(f"  {label!s:{width}}  {count:{digits},}  {share}")
    if len(counts) > longest:
        others = total - sum(count for _, count in listed)
        lines.append(f"  and {others:,} examples of the other {_num_labels(len(counts) - longest)}")
    if most >= 1.5 * fewest:
        lines.append(
            f"The most frequent label has {most / fewest:.1f} times as many examples as the "
            f"rarest. Always predicting\n{largest!r} gives an accuracy of "
            f"{100 * most / total:.1f}%."
        )
    alone = [label for label, count in counts.items() if count == 1]
    if alone:
        named = ", ".join(repr(label) for label in alone[:5]) + ", ..." * (len(alone) > 5)
        lines.append(f"Warning: {_num_labels(len(alone))} with only one example ({named}).")
    if most >= 10 * fewest:
        lines.append("Warning: the labels are imbalanced; evaluate with F1 instead of accuracy.")
    return "\n".join(lines)


def _permutation(size: int, seed: int) -> list[int]:
    # Every NumPy version generates the same raw bits, but not the same `permutation`.
    bits = np.random.PCG64(np.random.SeedSequence([seed])).random_raw(size)
    return np.argsort(bits, kind="stable").tolist()


def _shares(counts: Mapping[Hashable, int], fraction: float) -> dict[Hashable, int]:
    """Returns a dict from each label to the number of its examples in the second part."""
    exact = {label: fraction * count for label, count in counts.items()}
    taken = {label: int(share + 1e-9) for label, share in exact.items()}
    missing = int(sum(exact.values()) + 0.5 + 1e-9) - sum(taken.values())
    by_remainder = sorted(counts, key=lambda label: taken[label] - exact[label])
    for label in by_remainder[: max(0, missing)]:
        taken[label] += 1
    return {
        label: 0 if count == 1 else min(max(taken[label], 1), count - 1)
        for label, count in counts.items()
    }


def _check_singletons(positions: Mapping[Hashable, list[int]], fraction: float) -> None:
    alone = [(own[0], label) for label, own in positions.items() if len(own) == 1]
    if alone:
        position, label = min(alone, key=lambda pair: pair[0])
        more = f" The number of such labels is {len(alone)}." if len(alone) > 1 else ""
        raise ValueError(
            "Each label must have at least two examples, one for each part of a split; the label "
            f"{label!r} has only one example, number {position} (counted from 0).{more} Remove "
            'such examples, add examples of their labels, or set `singletons` to "keep".'
        )


def _num_labels(number: int) -> str:
    return f"{number:,} label{'s' * (number > 1)}"
