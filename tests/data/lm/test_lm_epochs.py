"""Epochs of a language model's batches follow the passes, wherever an epoch ends."""

import json

import numpy as np
import pytest

from tfreps.data import LMBatches, LMEpochs
from tfreps.text import Vocabulary

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", *"abcdefgh"])


@pytest.fixture
def make(tmp_path):
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(list("abcdefgh"), rng.integers(1, 9))) for _ in range(40)]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")

    def make(**more):
        order = {"shuffle": True, "seed": 1, "characters": None}
        return LMBatches(tmp_path / "text.txt", VOCABULARY, 2, 3, **order, **more)

    return make


def ids(dataset, count):
    return [batch["token_ids"].numpy() for batch in dataset.take(count)]


@pytest.mark.slow
def test_epochs_follow_one_another(make):
    expected = ids(make().dataset(), 50)  # more than a pass and more than the batches per snapshot
    epochs, found = LMEpochs(make(), 20, 50), []
    for epoch in range(epochs.num_epochs):
        found += ids(epochs.dataset(epoch), epochs.num_batches(epoch))
    assert epochs.num_epochs == 3 and len(found) == 50
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_another_process_goes_on_from_a_position(make):
    expected = ids(make().dataset(), 50)
    before = LMEpochs(make(), 20, 50)
    ids(before.dataset(1), 20)  # reading records positions
    state = json.loads(json.dumps(before.state(1, 15)))
    after = LMEpochs(make(), 20, 50)
    after.restore(state)
    found = ids(after.dataset(1, 15), 5) + ids(after.dataset(2), 10)
    np.testing.assert_array_equal(found, expected[35:])
    assert after.state(2, 0)["number"] == 40


def test_a_position_in_other_text(make):
    state = LMEpochs(make(), 20, 50).state(0, 3)
    other = LMEpochs(make(block_bytes=64), 20, 50)
    other.restore(state)
    with pytest.raises(ValueError, match="The data must be those of the saved position"):
        other.dataset(0, 3)
