"""SentencePairs: all sentences occur, half of the pairs are true, the others are random."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfreps._src.data.masked_lm.sentence_pairs import SentencePairs
from tfreps.data import TokenDocuments


def documents(lengths):
    """Returns documents with `lengths[d][s]` tokens in sentence s of d; a token is its position."""
    flat = [n for document in lengths for n in document]
    starts = np.concatenate([[0], np.cumsum(flat)]).astype(np.int64)
    bounds = np.cumsum([0, *map(len, lengths)])
    return TokenDocuments(np.arange(starts[-1]), starts, bounds, 0)


LENGTHS = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=7), min_size=2, max_size=6)


@given(LENGTHS, st.integers(1, 20))
@settings(max_examples=60)
def test_without_pairs_every_token_comes_once(lengths, max_tokens):
    found = documents(lengths)
    texts = SentencePairs(found, max_tokens, False, 0).texts(3)
    assert sorted(
        n for a, b in zip(texts.first, texts.first_end, strict=True) for n in range(a, b)
    ) == list(range(found.num_tokens))
    assert 1 <= texts.lengths().min() and texts.lengths().max() <= max_tokens
    assert not (texts.second_end - texts.second).any()
    owner = np.repeat(np.arange(found.num_documents), np.diff(found.starts[found.documents]))
    for a, b in zip(texts.first, texts.first_end, strict=True):
        assert owner[a] == owner[b - 1]
        is_whole = a in found.starts and b in found.starts
        assert is_whole or b - a <= max_tokens < np.diff(found.starts).max()


@given(LENGTHS, st.integers(2, 30), st.integers(0, 3))
@settings(max_examples=60)
def test_pairs_are_of_one_document_or_of_two(lengths, max_tokens, epoch):
    lengths = [*lengths, [2, 3], [4, 1, 2]]
    found = documents(lengths)
    pairs = SentencePairs(found, max_tokens, True, 0)
    texts = pairs.texts(epoch)
    assert pairs.num_left_out == sum(len(document) == 1 for document in lengths)
    owner = np.repeat(np.arange(found.num_documents), np.diff(found.starts[found.documents]))
    first, first_end, second, second_end, is_next = texts
    assert (first_end > first).all() and (second_end > second).all()
    assert texts.lengths().max() <= max_tokens
    assert np.isin(first_end, found.starts).all() and np.isin(second, found.starts).all()
    np.testing.assert_array_equal(owner[first] == owner[second], is_next)
    np.testing.assert_array_equal((first_end == second)[is_next], True)
    np.testing.assert_array_equal(owner[first], owner[first_end - 1])
    np.testing.assert_array_equal(owner[second], owner[second_end - 1])
    cut = ~(np.isin(first, found.starts) & np.isin(second_end, found.starts))
    assert (texts.lengths()[cut] == max_tokens).all()


def test_half_are_true_and_others_are_drawn_alike():
    found = documents([[3, 4], [5, 6], [2, 2]] * 40)
    pairs = SentencePairs(found, 64, True, 5)
    share, counts = [], np.zeros([240], int)
    for epoch in range(100):
        texts = pairs.texts(epoch)
        share.append(texts.is_next.mean())
        strangers = texts.second[~texts.is_next]
        counts += np.bincount(np.searchsorted(found.starts, strangers), minlength=240)
    assert abs(np.mean(share) - 0.5) < 0.02  # 12,000 coin flips: 4 standard deviations
    assert not counts[::2].any()  # a second segment never begins with the first sentence
    drawn = counts[1::2]  # 6,000 draws from 120: 50 each
    assert 0.5 < drawn.var() / drawn.mean() < 1.7


def test_lengths_give_nothing_away():
    """With long documents, true and random pairs are equally long."""
    rng = np.random.default_rng(0)
    found = documents([rng.integers(3, 20, 40).tolist() for _ in range(50)])
    pairs = SentencePairs(found, 100, True, 1)
    texts = [pairs.texts(epoch) for epoch in range(20)]
    lengths = np.concatenate([t.lengths() for t in texts])
    is_next = np.concatenate([t.is_next for t in texts])
    means = lengths[is_next].mean(), lengths[~is_next].mean()
    assert abs(means[0] - means[1]) < 3 and min(means) > 80


@pytest.mark.parametrize("sentences", [2, 20])
def test_cut_texts_give_nothing_away(sentences):
    """With long sentences, true and random pairs are truncated equally often (once .55 and .24)."""
    rng = np.random.default_rng(0)
    lengths = np.maximum(1, rng.lognormal(np.log(60), 0.6, [3000 // sentences, sentences]))
    pairs = SentencePairs(documents(lengths.astype(int).tolist()), 125, True, 1)
    texts = [pairs.texts(epoch) for epoch in range(20)]
    full = np.concatenate([t.lengths() == 125 for t in texts])
    is_next = np.concatenate([t.is_next for t in texts])
    shares = full[is_next].mean(), full[~is_next].mean()
    assert abs(shares[0] - shares[1]) < 0.05 and min(shares) > 0.4


def test_an_epoch_depends_on_the_seed_and_its_number_alone():
    found = documents([[3, 4, 2], [5, 6], [2, 2]] * 9)
    pairs, again = (SentencePairs(found, 12, True, 7) for _ in range(2))
    pairs.texts(0)
    np.testing.assert_array_equal(pairs.texts(4), again.texts(4))
    assert (np.array(pairs.texts(4)) != np.array(pairs.texts(5))).any()
    other = SentencePairs(found, 12, True, 8)
    assert (np.array(pairs.texts(4)) != np.array(other.texts(4))).any()


@pytest.mark.parametrize("lengths", [[[1, 2, 3]], [[1], [2], [3, 4]], [[5], [6]]])
def test_too_few_documents(lengths):
    with pytest.raises(ValueError, match="at least two documents with two or more"):
        SentencePairs(documents(lengths), 10, True, 0)
