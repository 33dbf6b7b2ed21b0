"""Ranges of Unicode code points."""

from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]


def as_ranges(codes: Iterable[int]) -> Ranges:
    """Groups ascending code points into ranges, each a pair of its first and last code points."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return tuple((first, last) for first, last in runs)
