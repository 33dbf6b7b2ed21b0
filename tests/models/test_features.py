"""Tests that missing features are named, and the mask of real tokens."""

import numpy as np
import pytest

from tfreps._src.models.features import check_features, token_mask

IDS = np.array([[3, 9, 0]])


def test_what_is_missing_is_named():
    check_features({"token_ids": IDS}, ["token_ids"], "mine")
    with pytest.raises(
        ValueError, match="`features` for 'mine' must be a dict with token_ids, .* got ndarray"
    ):
        check_features(IDS, ["token_ids"], "mine")
    with pytest.raises(ValueError, match="must have a, b; 'b' is missing from .'a'."):
        check_features({"a": IDS}, ["a", "b", "a"], "mine")


@pytest.mark.parametrize(
    "features, expected",
    [
        ({"token_ids": IDS}, [[True, True, False]]),
        ({"token_ids": IDS, "mask": IDS == 9}, [[False, True, False]]),
        ({"character_ids": IDS[..., None] * [1, 0]}, [[True, True, False]]),
    ],
)
def test_the_mask(features, expected):
    assert token_mask(features).numpy().tolist() == expected
