"""The engine of all converters: a strict table of foreign arrays and our weights."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np


def _as_it_is(array: np.ndarray) -> np.ndarray:
    return array


class Row(NamedTuple):
    """One line of a table: a foreign array, our weight, and the conversion between them.

    Args:
        foreign: name of the foreign array.
        shape: its shape, known from the options, before any memory is taken.
        ours: path of our weight.
        read: foreign array to our value.
        write: our value to the foreign array.
        part: which part of our weight this is, and of how many: several arrays of equal width
            may stand side by side in one weight, along its last axis.
    """

    foreign: str
    shape: tuple[int, ...]
    ours: str
    read: Callable[[np.ndarray], np.ndarray] = _as_it_is
    write: Callable[[np.ndarray], np.ndarray] = _as_it_is
    part: tuple[int, int] = (0, 1)


class Ignored(NamedTuple):
    """A foreign array that is not needed, and why."""

    foreign: str
    reason: str


def check_names(
    rows: Sequence[Row],
    shapes: Mapping[str, tuple[int, ...]],
    source: str,
    ignored: Sequence[Ignored] = (),
) -> None:
    """Checks that every foreign array has one row and every row its array, of the right shape.

    Args:
        rows: the table.
        shapes: name and shape of every array that the source has.
        source: what to call the source in an error.
        ignored: arrays that may be there and are not used.

    Raises:
        ValueError: with both lists of leftovers, or all arrays of a wrong shape.
    """
    wanted = {row.foreign: tuple(row.shape) for row in rows}
    if len(wanted) != len(rows):
        raise AssertionError("a table names each foreign array once")
    missing = sorted(set(wanted) - set(shapes))
    extra = sorted(set(shapes) - set(wanted) - {item.foreign for item in ignored})
    if missing or extra:
        raise ValueError(
            f"{source} does not hold the arrays that its options ask for.\n"
            f"  missing: {_listed(missing)}\n  not used: {_listed(extra)}\n"
            "Check that the options belong to these weights."
        )
    wrong = [
        f"{name}: expected {shape}, got {tuple(shapes[name])}"
        for name, shape in wanted.items()
        if tuple(shapes[name]) != shape
    ]
    if wrong:
        raise ValueError(
            f"{source} holds arrays of another shape than its options ask for "
            f"(transposed, or options of another model):\n  " + "\n  ".join(wrong)
        )


def read_rows(
    rows: Sequence[Row],
    arrays: Callable[[str], np.ndarray],
    weights: Mapping[str, object],
    source: str,
) -> None:
    """Fills each weight from its array; names and shapes were checked by `check_names`.

    Args:
        rows: the table.
        arrays: a foreign array by its name; read one at a time.
        weights: our weights by path, each with `assign`, `shape` and `dtype`.
        source: what to call the source in an error.

    Raises:
        ValueError: for weights without a row, rows without a weight, values that are no
            finite numbers.
    """
    by_weight = _by_weight(rows)
    leftover = sorted(set(weights) - set(by_weight))
    unknown = sorted(set(by_weight) - set(weights))
    if leftover or unknown:
        raise ValueError(
            f"The table for {source} does not fit the model.\n"
            f"  weights without a row: {_listed(leftover)}\n"
            f"  rows without a weight: {_listed(unknown)}"
        )
    for ours, parts in by_weight.items():
        values = [row.read(finite(arrays(row.foreign), row.foreign, source)) for row in parts]
        value = values[0] if len(values) == 1 else np.concatenate(values, axis=-1)
        weight = weights[ours]
        if tuple(value.shape) != tuple(weight.shape):
            raise ValueError(
                f"{source}: array {_listed([row.foreign for row in parts])} of shape "
                f"{parts[0].shape} gives {value.shape}, but weight {ours} has "
                f"{tuple(weight.shape)}."
            )
        weight.assign(value)


def written_rows(
    rows: Sequence[Row], weights: Mapping[str, object]
) -> dict[str, Callable[[], np.ndarray]]:
    """Returns the foreign arrays of a model by name, as functions that make them.

    Raises:
        ValueError: for a weight without a row.
    """
    leftover = sorted(set(weights) - {row.ours for row in rows})
    if leftover:
        raise ValueError(f"This format has no place for the weights {_listed(leftover)}.")

    def make(row: Row) -> np.ndarray:
        number, count = row.part
        value = np.asarray(weights[row.ours], np.float32)
        if count > 1:
            value = np.split(value, count, axis=-1)[number]
        array = row.write(value)
        if array.shape != tuple(row.shape):
            raise AssertionError(f"{row.foreign}: wrote {array.shape}, promised {row.shape}")
        return array

    return {row.foreign: (lambda row=row: make(row)) for row in rows}


def finite(array: np.ndarray, name: str, source: str) -> np.ndarray:
    """Returns the array in float32; raises a ValueError unless all its values are finite floats."""
    if not np.issubdtype(array.dtype, np.floating):
        raise ValueError(f"{source}: array {name} should hold floats; got {array.dtype}.")
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite: bad as well
        array = array.astype(np.float32, copy=False)
    bad = array.size - np.count_nonzero(np.isfinite(array))
    if bad:
        raise ValueError(
            f"{source}: array {name} holds {bad} values that are not finite (NaN or infinity) "
            f"among {array.size}. The file is damaged, or the training had diverged."
        )
    return array


def _by_weight(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each of our weights, in the order of their parts; each part once."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.ours, []).append(row)
    for ours, parts in found.items():
        parts.sort(key=lambda row: row.part)
        if [row.part for row in parts] != [(i, len(parts)) for i in range(len(parts))]:
            raise ValueError(
                "The table does not fit the model: the parts of weight "
                f"{ours} are not each there once."
            )
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
