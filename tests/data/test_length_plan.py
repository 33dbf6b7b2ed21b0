import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from docs.by_hand.batches import length_batches
from tfreps._src.data.length_plan import LengthPlan


def plan(lengths, batch_tokens=100, batch_size=None, multiple=1, shuffle=True, seed=0):
    return LengthPlan(np.array(lengths), batch_tokens, batch_size, multiple, shuffle, seed)


def test_unshuffled():
    batches = plan([5, 2, 9, 2, 1, 5], batch_tokens=10, shuffle=False).batches(3)
    # 1 2 2 | 5 5 | 9: with a 5, the first batch would have 4 rows of 5 tokens.
    assert [(b.sentences.tolist(), b.length) for b in batches] == [
        ([4, 1, 3], 2),
        ([0, 5], 5),
        ([2], 9),
    ]


def test_multiples():
    batches = plan([5, 2, 9, 2, 1, 25], batch_tokens=16, multiple=4, shuffle=False).batches(0)
    assert [(b.sentences.tolist(), b.length) for b in batches] == [
        ([1, 3, 4], 4),
        ([0], 8),
        ([2], 12),
        ([5], 28),
    ]


def test_most_rows():
    batches = plan([1] * 10, batch_size=4).batches(0)
    assert sorted(len(batch.sentences) for batch in batches) == [2, 4, 4]


def test_no_sentences():
    assert plan([]).batches(0) == plan([], shuffle=False).batches(0) == []


def test_empty_sentences():
    batches = plan([0, 0, 0], batch_tokens=2).batches(0)
    assert [(len(batch.sentences), batch.length) for batch in batches] in (
        [(2, 1), (1, 1)],
        [(1, 1), (2, 1)],
    )


@hypothesis.settings(max_examples=60)
@hypothesis.given(
    strategies.lists(strategies.integers(0, 300), min_size=1, max_size=60),
    strategies.integers(1, 500),
    strategies.sampled_from([None, 1, 7]),
    strategies.sampled_from([1, 8]),
    strategies.booleans(),
)
def test_properties(lengths, batch_tokens, batch_size, multiple, shuffle):
    lengths = np.array(lengths)
    made = LengthPlan(lengths, batch_tokens, batch_size, multiple, shuffle, seed=5)
    shapes = set()
    for epoch in (0, 1, 7):
        batches = made.batches(epoch)
        assert len(batches) == made.num_batches
        everything = np.concatenate([batch.sentences for batch in batches])
        assert sorted(everything.tolist()) == list(range(len(lengths)))
        for sentences, length in batches:
            longest = max(1, lengths[sentences].max())
            assert length % multiple == 0 and longest <= length < longest + multiple
            assert len(sentences) == 1 or len(sentences) * length <= batch_tokens
            assert batch_size is None or len(sentences) <= batch_size
        sizes = [(len(b.sentences), b.length if multiple > 1 else 0) for b in batches]
        shapes.add(tuple(sorted(sizes)))
    assert len(shapes) == 1  # the same in every epoch
    if not shuffle and multiple == 1 and batch_size is None:
        expected = length_batches(np.maximum(lengths, 1).tolist(), batch_tokens)
        assert [batch.sentences.tolist() for batch in made.batches()] == expected


def test_like_lengths_together():
    lengths = np.random.default_rng(0).geometric(0.04, 5000)
    batches = plan(lengths, batch_tokens=2000).batches(0)
    padded = sum(len(sentences) * length for sentences, length in batches)
    assert lengths.sum() / padded > 0.93
    assert np.mean([lengths[s].max() - lengths[s].min() for s, _ in batches]) < 0.15 * lengths.max()


def test_seeds_and_epochs():
    lengths = np.random.default_rng(0).integers(5, 60, 300)
    same = [plan(lengths, batch_tokens=500, seed=seed) for seed in (0, 0, 1)]

    def order(made, epoch):
        return [batch.sentences.tolist() for batch in made.batches(epoch)]

    assert order(same[0], 2) == order(same[1], 2)
    assert order(same[0], 2) != order(same[0], 3)
    assert order(same[0], 2) != order(same[2], 2)
    # The sentences that share a batch change too.
    teams = [{tuple(sorted(batch)) for batch in order(same[0], epoch)} for epoch in (0, 1)]
    assert len(teams[0] & teams[1]) < len(teams[0]) / 4
    # Batches are not sorted by length.
    longest = [batch.length for batch in same[0].batches(0)]
    assert longest != sorted(longest)


def test_kept_for_good():
    """A seed gives the same order on every machine and with every NumPy version."""
    batches = plan([3] * 6 + [4] * 4, batch_tokens=12, seed=2).batches(1)
    assert [batch.sentences.tolist() for batch in batches] == [[6, 8, 7], [0, 3, 9], [4, 2, 5, 1]]


@pytest.mark.parametrize("shuffle", [True, False])
def test_long_texts_mix(shuffle):
    """If few lengths are equal, sentences of nearly equal length are exchanged."""
    lengths = np.arange(100, 400)
    made = plan(lengths, batch_tokens=2000, shuffle=shuffle)
    teams = [{tuple(sorted(b.sentences.tolist())) for b in made.batches(e)} for e in (0, 1)]
    assert (len(teams[0] & teams[1]) < 10) == shuffle
