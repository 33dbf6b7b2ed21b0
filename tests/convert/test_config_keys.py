"""Each check of a config's value: what it accepts, what it rejects and what it expects."""

import math

import pytest

from tfreps._src.convert import config_keys
from tfreps._src.convert.bert_families import ACTIVATIONS, activation_name
from tfreps._src.convert.config_keys import LARGEST, Key, value_of


@pytest.mark.parametrize(
    "check, good, bad",
    [
        (config_keys.size, (1, LARGEST), (0, LARGEST + 1, 1.0, True, "1", None)),
        (config_keys.num_blocks, (1, 1024), (0, 1025, True)),
        (config_keys.share, (0, 0.0, 0.99), (1, -0.1, True, "0.1", None, math.nan)),
        (config_keys.positive, (1, 1e-12), (0, -1.0, math.inf, math.nan, "1")),
        (config_keys.token_id, (0, None, LARGEST - 1), (-1, LARGEST, 0.0, False)),
        (activation_name, tuple(ACTIVATIONS), ("silu", None, ["gelu"])),
    ],
)
def test_values(check, good, bad):
    assert all(check(value)[1] for value in good)
    assert not any(check(value)[1] for value in bad)


def test_a_value_its_default_and_errors():
    key = Key("theirs", "ours", config_keys.size, 7)
    assert value_of({"theirs": 3}, key, "x") == 3 and value_of({}, key, "x") == 7
    with pytest.raises(ValueError, match="x: `theirs` must be a whole number from 1 to .*; got -1"):
        value_of({"theirs": -1}, key, "x")
    with pytest.raises(ValueError, match="x: `theirs` is missing; expected a whole number"):
        value_of({}, Key("theirs", "ours", config_keys.size), "x")
