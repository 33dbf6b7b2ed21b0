"""Inputs that are joined into a batch, and outputs that are split again."""

import numpy as np
import pytest

from tfreps.server.models.batching import joined, split


def test_there_and_back():
    calls = [
        {"text": np.array([b"a", b"bc\0"], object), "x": np.zeros([2, 3], "float32")},
        {"text": np.array([b""], object), "x": np.ones([1, 3], "float32")},
        {"text": np.array([b"d"], object), "x": np.zeros([1, 3], "float32")},
    ]
    batch = joined(calls)
    assert batch["text"].tolist() == [b"a", b"bc\0", b"", b"d"]
    assert batch["x"].shape == (4, 3) and batch["x"].dtype == np.float32
    for own, call in zip(split(batch, [2, 1, 1]), calls, strict=True):
        assert own.keys() == call.keys()
        for name, value in call.items():
            np.testing.assert_array_equal(own[name], value)


@pytest.mark.parametrize("value", [np.float32(1), np.zeros([2]), np.zeros([4, 3])])
def test_outputs_without_rows(value):
    with pytest.raises(ValueError, match="y must have 3 rows; got the shape"):
        split({"y": np.asarray(value)}, [2, 1])
