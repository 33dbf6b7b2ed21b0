"""Positions of `LMBatches` are saved at every batch and restored exactly."""

import json

import numpy as np
import pytest

from tests.data.oracle import (
    VOCABULARY,
    arrays,
    assert_same,
    characters_of,
    lm_batches,
    oracle_batches,
    random_lines,
    write,
)
from tfreps._src.data.lm import lm_batches as module
from tfreps.data import LMBatches
from tfreps.text import Vocabulary, batch_to_ids


@pytest.fixture
def two_shards(tmp_path):
    write(tmp_path, "2.txt", "d zebra a\ne\n")
    write(tmp_path, "1.txt", "a b c\nb\n")
    return str(tmp_path / "*.txt")


STATE_OPTIONS = [
    {},
    {"shuffle": True, "seed": 3, "skip_blank": True},
    {"shuffle": True, "characters": "table", "block_bytes": 120},
    {"bidirectional": False, "characters": None},
]


@pytest.mark.few(1)
@pytest.mark.parametrize("options", STATE_OPTIONS)
@pytest.mark.parametrize("interval", [1, 4, 1000])
def test_state_at_every_batch(tmp_path, monkeypatch, options, interval):
    monkeypatch.setattr(module, "_BATCHES_PER_SNAPSHOT", interval)
    monkeypatch.setattr(module, "_UNKNOWN_WORDS_KEPT", 1)
    monkeypatch.setattr("tfreps._src.data.lm.sentence_slices._POSITIONS_PER_SLICE", 20)
    write(tmp_path, "a.txt", "\n".join(random_lines(1, 25)))
    write(tmp_path, "b.txt.gz", "\n".join(random_lines(2, 15)))
    write(tmp_path, "c.txt", "")

    def make():
        return LMBatches(str(tmp_path / "*.*"), VOCABULARY, 3, 4, passes=2, **options)

    batches = make()
    everything = list(batches._batches(0, None, 0))
    assert len(everything) > 20
    for done in range(len(everything) + 1):
        state = json.loads(json.dumps(batches.state(done)))
        assert state["batches"] + state["skip"] == done
        assert state["skip"] < interval or state["batches"] == 0
        rest = list(make()._batches(state["batches"], state["streams"], state["skip"]))
        assert len(rest) == len(everything) - done
        for left, right in zip(rest, everything[done:], strict=True):
            for one, other in zip(left, right, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_state_of_a_data_set(tmp_path):
    path = write(tmp_path, "a.txt", "\n".join(random_lines(1, 200)))

    def make():
        return LMBatches(path, VOCABULARY, 3, 4, shuffle=True, passes=2)

    batches = make()
    everything = arrays(batches.dataset())
    assert batches.state(70)["batches"] == 64
    for done in (5, 70, len(everything)):
        state = json.loads(json.dumps(batches.state(done)))
        assert_same(arrays(make().dataset(state)), everything[done:])
    # A state saved after restoring one, as in a run that is killed twice.
    resumed = make()
    rest = resumed.dataset(json.loads(json.dumps(batches.state(5))))
    assert_same(arrays(rest.take(6)), everything[5:11])
    again = make().dataset(json.loads(json.dumps(resumed.state(11))))
    assert_same(arrays(again), everything[11:])


@pytest.mark.slow
def test_old_snapshots_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BATCHES_PER_SNAPSHOT", 1)
    path = write(tmp_path, "a.txt", "a b c\n")
    batches = LMBatches(path, VOCABULARY, 1, 2)
    for _ in batches.dataset().take(200):
        pass
    assert len(batches._snapshots) <= 33
    expected = arrays(batches.dataset().take(30))
    assert batches.state(20)["batches"] <= 20  # dropped long ago; the beginning is used instead
    assert_same(arrays(batches.dataset(batches.state(20)).take(10)), expected[20:])


def test_unknown_words_are_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_UNKNOWN_WORDS_KEPT", 10)
    text = "\n".join(f"a w{n} b w{n + 1}" for n in range(300))
    path = write(tmp_path, "a.txt", text)
    options = {"passes": 1, "characters": "table", "block_bytes": 100}
    sizes = []
    forget = module._forget_delivered

    def count(*given):
        sizes.append(forget(*given))
        return sizes[-1]

    monkeypatch.setattr(module, "_forget_delivered", count)
    found = arrays(lm_batches(path, VOCABULARY, 2, 5, **options))
    assert len(sizes) > 5 and max(sizes) < 100
    expected = oracle_batches(text.split("\n"), VOCABULARY, 2, 5, finish=True)
    for batch, (words, _) in zip(found, expected, strict=True):
        rows = batch_to_ids([[w or "" for w in row] for row in words])
        np.testing.assert_array_equal(characters_of(batch), rows * batch["mask"][..., None])


def test_state_of_other_data(two_shards, tmp_path):
    state = LMBatches(two_shards, VOCABULARY, 2, 3).state(1)
    with pytest.raises(ValueError, match="batch_size = 2; got batch_size = 4"):
        LMBatches(two_shards, VOCABULARY, 4, 3).dataset(state)
    with pytest.raises(ValueError, match="expected vocabulary"):
        LMBatches(two_shards, Vocabulary(VOCABULARY.tokens[:6]), 2, 3).dataset(state)
    for name in ("1.txt", "2.txt"):  # files may get other names
        (tmp_path / name).rename(tmp_path / f"new-{name}")
    LMBatches(str(tmp_path / "new-*.txt"), VOCABULARY, 2, 3).dataset(state)
    for name in ("1.txt", "2.txt"):
        (tmp_path / f"new-{name}").rename(tmp_path / name)
    write(tmp_path, "1.txt", "changed\n")
    with pytest.raises(ValueError, match="expected files"):
        LMBatches(two_shards, VOCABULARY, 2, 3).dataset(state)
    with pytest.raises(ValueError, match="must be those of the saved position"):
        LMBatches(two_shards, VOCABULARY, 2, 3).dataset({})
    with pytest.raises(ValueError, match="`num_batches`"):
        LMBatches(two_shards, VOCABULARY, 2, 3).state(-1)
