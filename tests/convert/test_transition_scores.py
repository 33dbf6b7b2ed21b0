"""Tests reading the transition scores of CRFs, as each library defines the scores of paths."""

import json

import h5py
import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.closeness import assert_close
from tfreps.convert import read_transition_scores
from tfreps.layers import CRF

TAGS = ["O", "B-X", "I-X"]
RANDOM = np.random.default_rng(0)
SHAPES = [3, 3], [3], [3]
TRANSITIONS, START, END = (RANDOM.normal(size=shape).astype("float32") for shape in SHAPES)
NAMES = {
    "tfreps": ("transitions", "start_scores", "end_scores"),
    "pytorch-crf": ("transitions", "start_transitions", "end_transitions"),
    "delft": ("U", "b_start", "b_end"),
    "addons": ("chain_kernel", "left_boundary", "right_boundary"),
}


def arrays_of(library, prefix="", suffix=""):
    values = TRANSITIONS, START, END
    return {prefix + n + suffix: v for n, v in zip(NAMES[library], values, strict=True)}


def write(path, arrays):
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".safetensors":
        save_file(arrays, path)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
    else:
        plain = {name: np.asarray(array).tolist() for name, array in arrays.items()}
        path.write_text(json.dumps(plain))
    return path


@pytest.mark.parametrize(
    "library, name, prefix, suffix",
    [
        ("tfreps", "crf.npz", "", ""),
        ("tfreps", "crf.json", "", ""),
        ("pytorch-crf", "model.safetensors", "crf.", ""),
        ("pytorch-crf", "crf.json", "", ""),
        ("delft", "crf.npz", "", ""),
        ("addons", "model.h5", "model_weights/crf/crf/", ":0"),
    ],
)
def test_libraries(library, name, prefix, suffix, tmp_path):
    arrays = arrays_of(library, prefix, suffix)
    if name.startswith("model"):  # other weights, and the state of the optimizer
        arrays |= {"encoder.weight": RANDOM.normal(size=[4, 4]).astype("float32")}
    if name.endswith(".h5"):
        arrays["optimizer_weights/Adam/m/crf/chain_kernel:0"] = np.zeros([3, 3], "float32")
    scores = read_transition_scores(write(tmp_path / name, arrays), TAGS)
    for found, expected in zip(scores, (TRANSITIONS, START, END), strict=True):
        assert found.dtype == np.float32 and (found == expected).all()


@pytest.mark.parametrize("library", NAMES)
def test_directions(library, tmp_path):
    """The scores of a path in a `CRF` equal the library's formula, from its source code."""
    scores = read_transition_scores(write(tmp_path / "crf.npz", arrays_of(library)), TAGS)
    crf = CRF(3)
    crf.build([None, None, 3])
    crf.set_scores(*scores)
    emissions = RANDOM.normal(size=[1, 4, 3]).astype("float32")
    path = [0, 2, 1, 1]
    expected = sum(emissions[0, t, tag] for t, tag in enumerate(path)) + START[0] + END[1]
    if library in ("delft", "addons"):  # both gather from the flat matrix
        flat = [tag * 3 + after for tag, after in zip(path[:-1], path[1:], strict=True)]
        expected += TRANSITIONS.ravel()[flat].sum()
    else:  # pytorch-crf: score += self.transitions[tags[i - 1], tags[i]]
        expected += sum(TRANSITIONS[path[i - 1], path[i]] for i in range(1, 4))
    assert_close(crf.path_score(emissions, [path])[0], expected)


def test_names_that_are_not_text(tmp_path):
    path = write(tmp_path / "crf.h5", arrays_of("addons"))
    with h5py.File(path, "a") as file:
        file[b"\xff"] = START
    assert (read_transition_scores(path, TAGS).start_scores == START).all()


def test_delft_json(tmp_path):
    values = {"transitions": TRANSITIONS, "startTransitions": START, "endTransitions": END}
    path = write(tmp_path / "crf_params.json", {**values, "numTags": np.array(3)})
    for found, expected in zip(read_transition_scores(path, TAGS), values.values(), strict=True):
        assert (found == expected).all()


def test_scores_by_tags(tmp_path):
    """Scores that are not in the file are 0, as are start and end scores if both are missing."""
    path = tmp_path / "crf.json"
    path.write_text('{"transitions": {"O": {"B-X": 1.5}, "I-X": {"O": -2}}}')
    scores = read_transition_scores(path, TAGS)
    assert scores.transitions.tolist() == [[0, 1.5, 0], [0, 0, 0], [-2, 0, 0]]
    assert not scores.start_scores.any() and not scores.end_scores.any()
    boundary = '"start_scores": {"O": 1}, "end_scores": [0, 0, 3]'
    path.write_text(f'{{"transitions": {TRANSITIONS.tolist()}, {boundary}}}')
    scores = read_transition_scores(path, TAGS)
    assert [part.tolist() for part in scores[1:]] == [[1, 0, 0], [0, 0, 3]]


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"transition": []}', "expected the keys transitions, start_scores, end_scores"),
        ('{"transitions": {"B": {}}}', "scores for 'B', which is not one of the tags"),
        ('{"transitions": {"O": {"B": 1}}}', "transitions, O has scores for 'B'"),
        ('{"transitions": {"O": 1}}', "transitions must be a list of numbers"),
        ('{"transitions": [[1], [1, 2]]}', "transitions must be a list of numbers"),
        ('{"transitions": "high"}', "transitions must be a list of numbers"),
        ('{"transitions": [[1, 2], [3, 4]]}', r"the shape \(3, 3\), because there are 3 tags"),
        ('{"transitions": [[null, 0, 0], [0, 0, 0], [0, 0, 0]]}', "must contain finite numbers"),
        ('{"transitions": {"O": {"O": 1e99}}}', "must contain finite numbers"),
        ('{"start_scores": [0, 0, 0]}', "under the names of a known library"),
    ],
)
def test_invalid_json(text, message, tmp_path):
    path = tmp_path / "crf.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_transition_scores(path, TAGS)


def test_invalid_arrays(tmp_path):
    def error(arrays, message, name="crf.npz"):
        with pytest.raises(ValueError, match=message):
            read_transition_scores(write(tmp_path / name, arrays), TAGS)

    arrays = arrays_of("pytorch-crf")
    error({**arrays, "transitions": np.zeros([5, 5])}, r"must have the shape \(3, 3\)")
    error({**arrays, "transitions": np.full([3, 3], -np.inf)}, "Replace minus infinity")
    error({**arrays, "transitions": np.zeros([3, 3], "<U1")}, "must contain finite numbers")
    error({"transitions": TRANSITIONS, "start_transitions": START}, "known library")
    error({"crf.a": TRANSITIONS}, r"The file has \['a'\]", "crf.safetensors")
    two = {**arrays_of("addons", "a."), **arrays_of("addons", "b.")}
    error(two, "the scores of one CRF; the file has a.chain_kernel, b.chain_kernel")
    error({**arrays, "transitions": np.array([[None] * 3] * 3)}, "Object arrays cannot be loaded")


@pytest.mark.parametrize("name", ["crf.pkl", "crf.npz", "crf.json", "crf.h5", "crf.safetensors"])
def test_files_that_cannot_be_read(name, tmp_path):
    with pytest.raises(ValueError, match=name):
        read_transition_scores(tmp_path / name, TAGS)
    (tmp_path / name).write_bytes(b"PK\x03\x04 no file of arrays")
    with pytest.raises(ValueError, match=name):
        read_transition_scores(tmp_path / name, TAGS)
    np.savez(tmp_path / "whole.npz", **arrays_of("tfreps"))
    (tmp_path / "crf.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:-200])
    with pytest.raises(ValueError, match="crf.npz"):
        read_transition_scores(tmp_path / "crf.npz", TAGS)
