"""Splits labelled examples by class, and describes how classes are balanced."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np


def stratified_split(
    labels: Sequence[Hashable], fraction: float, seed: int = 0, single: str = "error"
) -> tuple[list[int], list[int]]:
    """Splits examples so that every class keeps its share, up to one example.

    The part has `round(fraction * N)` examples (halves round up): of a class with n examples
    `fraction * n`, rounded down, and one more of the classes with the largest remainders. Every
    class of two or more is on both sides, even where that changes the number. The same labels,
    fraction and seed give the same split, on any machine. For a split that is not stratified,
    give labels that are all alike.

    Args:
        labels: the class of each example.
        fraction: float above 0 and below 1.
        seed: int, not negative.
        single: what becomes of a class with one example: "error", or "keep" among the rest.

    Returns:
        places of the rest and of the part, each rising: for example train and dev.

    Raises:
        ValueError: a class with one example; fewer than two examples; a bad argument.

    Example:
        >>> from tfreps.data import stratified_split
        >>> labels = ["good", "bad", "good", "bad", "good", "good"]
        >>> train, dev = stratified_split(labels, 1 / 3)
        >>> sorted(labels[place] for place in dev), len(train)
        (['bad', 'good'], 4)
    """
    if not 0 < fraction < 1:
        raise ValueError(f"`fraction` must be above 0 and below 1; got {fraction}.")
    if single not in ("error", "keep"):
        raise ValueError(f'`single` must be "error" or "keep"; got {single!r}.')
    if len(labels) < 2:
        raise ValueError(f"A split needs at least two examples; got {len(labels)}.")
    places: dict[Hashable, list[int]] = {}
    for place in _permutation(len(labels), seed):
        places.setdefault(labels[place], []).append(place)
    if single == "error":
        _check_single(places, fraction)
    counts = {label: len(own) for label, own in places.items()}
    taken = _shares(dict(sorted(counts.items(), key=lambda item: str(item[0]))), fraction)
    part = [place for label, own in places.items() for place in own[: taken[label]]]
    rest = set(range(len(labels))).difference(part)
    return sorted(rest), sorted(part)


def class_counts(labels: Sequence[Hashable]) -> dict:
    """Counts the examples of each class, the largest class first, equal ones by name.

    Example:
        >>> from tfreps.data import class_counts
        >>> class_counts(["1", "0", "2", "1"])
        {'1': 2, '0': 1, '2': 1}
    """
    return dict(sorted(Counter(labels).items(), key=lambda item: (-item[1], str(item[0]))))


def describe_classes(labels: Sequence[Hashable], longest: int = 20) -> str:
    """Describes in words how examples are spread over classes.

    A line for each class with its share; then the floor that any classifier has to beat, which
    is the share of the largest class; and a warning where a class has one example only, or where
    the largest has ten times the examples of the smallest.

    Args:
        labels: the class of each example, at least one.
        longest: int. Most classes listed; the rest are counted in one line.

    Raises:
        ValueError: there are no examples.

    Example:
        >>> from tfreps.data import describe_classes
        >>> print(describe_classes(["good"] * 30 + ["bad"] * 10))
        40 examples of 2 classes:
          good  30   75.0 %
          bad   10   25.0 %
        Always answering 'good' would be right for 75.0 %; the largest class has 3.0 times the
        examples of the smallest.
    """
    if not labels:
        raise ValueError("There are no examples to describe.")
    counts = class_counts(labels)
    total = len(labels)
    listed = list(counts.items())[:longest]
    width = max(len(str(label)) for label, _ in listed)
    digits = len(f"{listed[0][1]:,}")
    largest, most = listed[0]
    fewest = min(counts.values())
    lines = [f"{total:,} example{'s' * (total > 1)} of {_classes(len(counts))}:"]
    for label, count in listed:
        share = f"{100 * count / total:5.1f} %"
        lines.append(f"  {label!s:{width}}  {count:{digits},}  {share}")
    if len(counts) > longest:
        others = total - sum(count for _, count in listed)
        lines.append(f"  and {others:,} examples of {_classes(len(counts) - longest)} more")
    lines.append(
        f"Always answering {largest!r} would be right for {100 * most / total:.1f} %; the largest "
        f"class has {most / fewest:.1f} times the\nexamples of the smallest."
    )
    alone = [label for label, count in counts.items() if count == 1]
    if alone:
        named = ", ".join(repr(label) for label in alone[:5]) + ", ..." * (len(alone) > 5)
        lines.append(f"Warning: one example only of {_classes(len(alone))} ({named}).")
    if most >= 10 * fewest:
        lines.append("Warning: the classes are far from balanced; judge by F1, not by accuracy.")
    return "\n".join(lines)


def _permutation(size: int, seed: int) -> list[int]:
    # Bits of the generator, and not its `permutation`, are the same in every NumPy.
    bits = np.random.PCG64(np.random.SeedSequence([seed])).random_raw(size)
    return np.argsort(bits, kind="stable").tolist()


def _shares(counts: dict, fraction: float) -> dict:
    """How many of each class are taken."""
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


def _check_single(places: dict, fraction: float) -> None:
    alone = [(own[0], label) for label, own in places.items() if len(own) == 1]
    if alone:
        place, label = min(alone, key=lambda pair: pair[0])
        more = f", and {len(alone) - 1} more classes have" if len(alone) > 1 else ""
        raise ValueError(
            f"The class {label!r} has one example only (number {place}, counted from 0){more}, "
            "which cannot be on both sides of a split. Remove it, give more examples, or split "
            'with single="keep".'
        )


def _classes(number: int) -> str:
    return f"{number:,} class{'es' * (number > 1)}"
