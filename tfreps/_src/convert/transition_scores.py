"""Reads the transition scores of a CRF from files of tfreps and of other libraries."""

import math
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfreps._src.convert.array_files import Arrays, open_safetensors
from tfreps._src.files.argument_checks import check_names
from tfreps._src.files.hdf5_files import array_shapes, open_hdf5, read_array
from tfreps._src.files.json_files import read_json

OWN = "transitions", "start_scores", "end_scores"
DELFT_JSON = "transitions", "startTransitions", "endTransitions"
# Names of the transition, start and end scores. Transitions are [from, to] in all libraries.
LIBRARIES = {
    "tfreps": OWN,
    "pytorch-crf and AllenNLP": ("transitions", "start_transitions", "end_transitions"),
    "DeLFT, as JSON": DELFT_JSON,
    "ChainCRF of DeLFT": ("U", "b_start", "b_end"),
    "TensorFlow Addons": ("chain_kernel", "left_boundary", "right_boundary"),
}


class TransitionScores(NamedTuple):
    """Scores of the transitions between K tags, in the order of `tfreps.layers.CRF.set_scores`.

    Attributes:
        transitions: float32 `[K, K]`, [from, to]. Score of each tag after another.
        start_scores: float32 `[K]`. Score of each tag as the first tag.
        end_scores: float32 `[K]`. Score of each tag as the last tag.
    """

    transitions: np.ndarray
    start_scores: np.ndarray
    end_scores: np.ndarray


def read_transition_scores(path: str | os.PathLike[str], tags: Sequence[str]) -> TransitionScores:
    """Reads the transition scores of a CRF that was trained with tfreps or another library.

    The transition, start and end scores are found by their names, which are listed below. Names in
    a model, such as `crf.transitions` or `crf/chain_kernel:0`, may begin with the name of the
    layer.

    - tfreps: `transitions`, `start_scores` and `end_scores`.
    - pytorch-crf and AllenNLP: `transitions`, `start_transitions` and `end_transitions`.
    - JSON of DeLFT: `transitions`, `startTransitions` and `endTransitions`.
    - `ChainCRF` of DeLFT: `U`, `b_start` and `b_end`.
    - TensorFlow Addons: `chain_kernel`, `left_boundary` and `right_boundary`.

    Start and end scores are 0 if the file has neither. In a JSON file, scores are nested lists, or
    objects whose keys are tags, such as `{"transitions": {"O": {"B-PER": 0.5}}}`, from the first
    tag to the second. Tags that are not keys have the score 0.

    Args:
        path: str or path-like. A file with the extension `.json`, `.npz`, `.safetensors` (such as
            the `state_dict` of a PyTorch model), `.h5` or `.hdf5`.
        tags: sequence of str. The K tags in the order of their ids.

    Returns:
        `TransitionScores`: named tuple `(transitions, start_scores, end_scores)` of float32 arrays
        `[K, K]`, [from, to], `[K]` and `[K]`.

    Raises:
        ValueError: If the file cannot be read, has another extension, contains no transition scores
            or those of several CRFs, or contains scores of the wrong shape or that are not finite.

    Example:
    >>> import json, tempfile
    >>> path = tempfile.mkdtemp() + "/scores.json"
    >>> scores = {"transitions": {"O": {"B": 0.5}}, "start_scores": [1, 0], "end_scores": [0, 0]}
    >>> with open(path, "w") as file:
    ...     json.dump(scores, file)
    >>> read_transition_scores(path, ["O", "B"]).transitions.tolist()
    [[0.0, 0.5], [0.0, 0.0]]
    """
    check_names(tags=list(tags))
    opened = {
        ".json": _open_json,
        ".npz": _open_npz,
        ".safetensors": lambda path, tags: open_safetensors(path),
        ".h5": _open_hdf5,
        ".hdf5": _open_hdf5,
    }
    path = Path(path)
    if path.suffix not in opened:
        raise ValueError(
            f"{path}: expected a file with the extension {', '.join(opened)}; got "
            f"{path.suffix or 'no extension'!r}. Save the scores in one of these formats."
        )
    arrays = opened[path.suffix](path, list(tags))
    return TransitionScores(*_scores(path, arrays, len(tags)))


def _scores(path, arrays, size):
    """Returns the transition, start and end scores in `Arrays`, after checking them."""
    places: dict[str, list[str]] = {}
    for name in arrays.shapes:
        if not name.startswith("optimizer"):  # HDF5 files may contain the state of an optimizer
            places.setdefault(re.split(r"[/.]", name.removesuffix(":0"))[-1], []).append(name)
    names = max(LIBRARIES.values(), key=lambda names: sum(name in places for name in names))
    there = [name in places for name in names]
    if not there[0] or there[1] != there[2]:
        known = "; ".join(f"{', '.join(row)} ({name})" for name, row in LIBRARIES.items())
        raise ValueError(
            f"{path}: expected transition, start and end scores under the names of a known "
            f"library: {known}. The file has {sorted(places)[:20]}. Rename the scores."
        )
    shapes = (size, size), (size,), (size,)
    for name, shape in zip(names, shapes, strict=True):
        yield _scores_of(path, arrays, name, places.get(name), shape)


def _scores_of(path, arrays, name, places, shape):
    """Returns the scores `name`, or zeros if `places`, the names of arrays, is `None`."""
    if places is None:
        return np.zeros(shape, "float32")
    if len(places) > 1:
        raise ValueError(
            f"{path}: expected the scores of one CRF; the file has {', '.join(places)}. Save the "
            "scores of one CRF in a file of their own."
        )
    found = tuple(arrays.shapes[places[0]])
    if found != shape:
        raise ValueError(
            f"{path}: {places[0]} must have the shape {shape}, because there are {shape[0]} tags; "
            f"got {found}. Give the tags of the CRF, each once, in the order of their ids. Scores "
            "with additional rows for the start and the end of a sentence are not supported."
        )
    scores = np.asarray(arrays.array(places[0]))
    with np.errstate(over="ignore"):  # too large for float32
        scores = scores.astype("float32") if scores.dtype.kind in "fiu" else np.array([np.nan])
    if not np.isfinite(scores).all():
        raise ValueError(
            f"{path}: {places[0]} must contain finite numbers. Replace minus infinity with a "
            "low score, such as -10000, and check how the file was written."
        )
    return scores


def _open_json(path, tags):
    values = read_json(path)
    known = {name for names in LIBRARIES.values() for name in names}
    if set(values) - known and DELFT_JSON[1] not in values:  # DeLFT writes further keys
        raise ValueError(
            f"{path}: expected the keys {', '.join(OWN)}; got {', '.join(sorted(values)[:20])}. "
            "Correct the keys."
        )
    arrays = {name: _from_json(path, name, values[name], tags) for name in known & {*values}}
    return Arrays({name: array.shape for name, array in arrays.items()}, arrays.__getitem__)


def _from_json(path, name, value, tags):
    """Returns scores, which are nested lists or objects whose keys are tags, as an array."""
    if isinstance(value, dict):
        unknown = next((tag for tag in value if tag not in tags), None)
        if unknown is not None:
            raise ValueError(
                f"{path}: {name} has scores for {unknown!r}, which is not one of the tags "
                f"({', '.join(tags[:20])}). Correct the tag."
            )
        rows = [value.get(tag, {} if name == OWN[0] else 0.0) for tag in tags]
        if name == OWN[0]:
            of = zip(tags, rows, strict=True)
            rows = [_from_json(path, f"{name}, {tag}", row, tags) for tag, row in of]
        value = rows
    try:
        return np.asarray(value, "float64")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{path}: {name} must be a list of numbers, a list of such lists, or an object from "
            f"tags to scores; got {str(value)[:60]}. Correct the file."
        ) from None


def _open_npz(path, tags):
    """Returns the arrays of a .npz file, whose shapes are read before any array is."""
    del tags
    try:
        with zipfile.ZipFile(path) as file:
            names = [name for name in file.namelist() if name.endswith(".npy")]
            shapes = {name[:-4]: _npy_shape(file, name) for name in names}
    except Exception as error:
        raise _unreadable(path, "a .npz file", error) from error

    def array(name: str) -> Any:
        try:
            with np.load(path, allow_pickle=False) as file:
                return file[name]
        except Exception as error:
            raise _unreadable(path, f"numbers in the array {name}", error) from error

    return Arrays(shapes, array)


def _npy_shape(file, name):
    with file.open(name) as member:
        version = np.lib.format.read_magic(member)
        read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
        shape, _, dtype = read[version[0]](member)
    if math.prod(shape) * dtype.itemsize > file.getinfo(name).file_size:
        raise ValueError(f"{name} is truncated")
    return shape


def _unreadable(path, what, error):
    return ValueError(
        f"{path}: expected {what}; the file cannot be read ({error}). Write it again with "
        "np.savez, from arrays of numbers."
    )


def _open_hdf5(path, tags):
    del tags
    file = open_hdf5(path)
    # h5py returns names that are not UTF-8 as bytes.
    shapes = {name: of for name, of in array_shapes(file).items() if isinstance(name, str)}
    return Arrays(shapes, lambda name: read_array(file, name))
