"""Tables that match foreign arrays with weights of tfreps, and their strict checks."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

MOST_NAMES = 10  # maximum number of names that an error message lists


def _as_it_is(array: np.ndarray) -> np.ndarray:
    return array


class Weight(Protocol):
    """Weight of a model, or an object that stores the array that is assigned to it."""

    @property
    def shape(self) -> Any:
        """Shape of the weight, as a tuple or `tf.TensorShape`."""

    def assign(self, value: Any) -> Any:
        """Sets the weight to an array of this shape."""


class Row(NamedTuple):
    """Table row that matches a foreign array, from a file of another library, with a tfreps weight.

    Attributes:
        foreign: str. Name of the foreign array.
        shape: tuple of int. Shape of the foreign array. It follows from the options of the model,
            so it is known before memory is allocated.
        ours: str. Path of the weight.
        read: Function that converts the foreign array to the value of the weight.
        write: Function that converts the value of the weight to the foreign array.
        part: tuple of two int. If several foreign arrays form one weight, the index of this array
            and the number of the arrays: the results of `read` have equal widths and are
            concatenated along the last axis. Defaults to `(0, 1)`.
    """

    foreign: str
    shape: tuple[int, ...]
    ours: str
    read: Callable[[np.ndarray], np.ndarray] = _as_it_is
    write: Callable[[np.ndarray], np.ndarray] = _as_it_is
    part: tuple[int, int] = (0, 1)


def check_arrays(
    rows: Sequence[Row],
    shapes: Mapping[str, tuple[int, ...]],
    source: str,
    ignored: Collection[str] = (),
) -> None:
    """Checks that the foreign arrays match the rows one to one and have the right shapes.

    Raises:
        ValueError: If a row has no array, an array that is not in `ignored` has no row, or an array
            has the wrong shape. The message lists up to `MOST_NAMES` of these arrays.
        AssertionError: If two rows have the same foreign array.
    """
    wanted = {row.foreign: tuple(row.shape) for row in rows}
    if len(wanted) != len(rows):
        raise AssertionError(
            f"Each row of a table must name a different array; got {len(rows)} rows, but only "
            f"{len(wanted)} different names."
        )
    missing = sorted(set(wanted) - set(shapes))
    extra = sorted(set(shapes) - set(wanted) - set(ignored))
    if missing or extra:
        raise ValueError(
            f"The arrays in {source} are not those that its options require.\n"
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
            f"{source} contains {len(wrong)} arrays whose shapes differ from those that its "
            "options require:\n  "
            + "\n  ".join(wrong[:MOST_NAMES])
            + "\nCheck that the options belong to these weights and that no array is transposed."
        )


def read_rows(
    rows: Sequence[Row],
    arrays: Callable[[str], np.ndarray],
    weights: Mapping[str, Weight],
    source: str,
) -> None:
    """Assigns the foreign arrays to the weights, one weight at a time; call `check_arrays` first.

    Raises:
        ValueError: If a weight has no row, a row has no weight, a part of a weight is missing or
            occurs twice, a foreign array has a value that is not a finite float, or a converted
            array does not have the shape of its weight.
    """
    by_weight = _by_weight(rows)
    leftover = sorted(set(weights) - set(by_weight))
    unknown = sorted(set(by_weight) - set(weights))
    if leftover or unknown:
        raise ValueError(
            f"The table for {source} does not fit the model.\n  weights without a row: "
            f"{_listed(leftover)}\n  rows without a weight: {_listed(unknown)}\nReport this as "
            "a bug."
        )
    for ours, parts in by_weight.items():
        values = [row.read(finite(arrays(row.foreign), row.foreign, source)) for row in parts]
        value = values[0] if len(values) == 1 else np.concatenate(values, axis=-1)
        weight = weights[ours]
        if tuple(value.shape) != tuple(weight.shape):
            raise ValueError(
                f"{source}: {_listed([row.foreign for row in parts])} of shape {parts[0].shape} "
                f"would be converted to an array of shape {value.shape}, but weight {ours} has "
                f"shape {tuple(weight.shape)}. Report this as a bug."
            )
        weight.assign(value)


def written_rows(
    rows: Sequence[Row], weights: Mapping[str, Any]
) -> dict[str, Callable[[], np.ndarray]]:
    """Returns a dict from the names of the arrays to write to functions that compute them.

    Raises:
        ValueError: If a weight has no row.
    """
    leftover = sorted(set(weights) - {row.ours for row in rows})
    if leftover:
        raise ValueError(
            f"This format cannot store the weights {_listed(leftover)}. Use `model.save` instead."
        )

    def make(row: Row) -> np.ndarray:
        number, count = row.part
        value = np.asarray(weights[row.ours], np.float32)
        if count > 1:
            value = np.split(value, count, axis=-1)[number]
        array = row.write(value)
        if array.shape != tuple(row.shape):
            raise AssertionError(f"{row.foreign} must have shape {row.shape}; got {array.shape}.")
        return array

    return {row.foreign: (lambda row=row: make(row)) for row in rows}


def check_no_adapters(paths: Iterable[str]) -> None:
    """Raises a ValueError if one of the weights at these paths belongs to a LoRA adapter."""
    for path in paths:
        layer, _, name = path.rpartition("/")
        if name.startswith("lora_"):
            raise ValueError(
                f"{layer} has LoRA adapters (`enable_lora`), which these files cannot store. Save "
                "the model with `model.save` and load it again: this merges the adapters into the "
                "weights. `BertEncoder.save_adapter` writes the adapters alone."
            )


def finite(array: np.ndarray, name: str, source: str) -> np.ndarray:
    """Returns the array in float32; raises a ValueError unless all values are finite floats."""
    if not np.issubdtype(array.dtype, np.floating):
        raise ValueError(
            f"{source}: array {name} must contain floats; got {array.dtype}. Use the original "
            "weights file."
        )
    with np.errstate(over="ignore"):  # an overflow becomes infinite and is counted below
        array = array.astype(np.float32, copy=False)
    bad = array.size - np.count_nonzero(np.isfinite(array))
    if bad:
        raise ValueError(
            f"{source}: {bad} of the {array.size} values of array {name} are not finite (NaN or "
            "infinity). The file is damaged, or the training diverged. Use another checkpoint."
        )
    return array


def _by_weight(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Returns a dict from the path of each weight to its rows, sorted by part.

    Raises:
        ValueError: If a part of a weight is missing or occurs twice.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.ours, []).append(row)
    for ours, parts in found.items():
        parts.sort(key=lambda row: row.part)
        if [row.part for row in parts] != [(i, len(parts)) for i in range(len(parts))]:
            raise ValueError(
                f"The table must contain each part of weight {ours} exactly once, but does "
                "not. Report this as a bug."
            )
    return found


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more if names else "none"
