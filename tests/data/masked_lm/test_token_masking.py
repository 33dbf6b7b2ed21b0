"""TokenMasking: statistics, tokens that are never masked, and seeds."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from tests.data.pieces import Pieces

pytest.importorskip("tensorflow_text", reason="masked language modeling needs it")

from tfreps._src.data.masked_lm.token_masking import TokenMasking

WORDS = [f"w{n}" for n in range(20)]
TOKENIZER = Pieces([*WORDS, *(f"##p{n}" for n in range(10))], unused=3)
FIRST, SIZE = 8, 38  # the first ordinary id and the number of ids


def rows(lengths, seed=0, low=FIRST):
    """Returns `[CLS] ... [SEP] ... [SEP]` with random ids, including unknown ones if `low` is 1."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(low, SIZE, [len(lengths), max(lengths)]).astype(np.int32)
    if low == 1:
        ids[(ids > 1) & (ids < FIRST)] = FIRST  # no text produces these
    ids[:, 0] = 2
    for row, length in enumerate(lengths):
        ids[row, [length // 2, length - 1]] = 3
        ids[row, length:] = 0
    return ids


@functools.cache
def traced(**options):
    """Returns a masking as one graph."""
    rows, lengths = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int64)
    signature = [rows, lengths, tf.TensorSpec([2], tf.int32)]
    masking = TokenMasking(TOKENIZER, **options)
    return tf.function(masking, input_signature=signature, autograph=False)


def run(ids, seed=1, **options):
    found = traced(**options)(ids, (ids != 0).sum(axis=1), tf.constant([seed, 0]))
    return {name: value.numpy() for name, value in found.items()}


def hidden(ids, found):
    """Returns the hidden positions, bool `[B, T]`, and checks that the element is consistent."""
    where = np.zeros(ids.shape, bool)
    for row, weights in enumerate(found["masked_weights"]):
        real = weights == 1.0
        assert weights[~real].sum() == 0 and not real[real.sum() :].any()
        positions = found["masked_positions"][row, real]
        assert (np.diff(positions) > 0).all()
        np.testing.assert_array_equal(ids[row, positions], found["masked_ids"][row, real])
        where[row, positions] = True
    np.testing.assert_array_equal(found["token_ids"][~where], ids[~where])
    return where


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"rate": 0.3}])
def test_statistics(options):
    ids = rows([103] * 1000)  # 100 ordinary ids per row
    found, rate = run(ids, **options), options.get("rate", 0.15)
    where = hidden(ids, found)
    np.testing.assert_array_equal(where.sum(axis=1), round(100 * rate))
    new, old = found["token_ids"][where], ids[where]
    is_mask, is_kept = new == 4, new == old
    one = 1 / (SIZE - FIRST)  # a random id may equal the old one
    sigma = 4 * 0.4 / np.sqrt(len(new))
    assert abs(is_mask.mean() - 0.8) < sigma
    assert abs(is_kept.mean() - (0.1 + 0.1 * one)) < sigma
    others = new[~is_mask & ~is_kept]
    counts = np.bincount(others, minlength=SIZE)
    assert not counts[:FIRST].any() and len(counts) == SIZE
    drawn = counts[FIRST:]
    assert 0.3 < drawn.var() / drawn.mean() < 2.2  # 30 ids: approximately Poisson
    positions = where.sum(axis=0)[ids[0] > 4]
    assert 0.5 < positions.var() / (positions.mean() * (1 - rate)) < 1.6  # equal rates


@pytest.mark.slow
def test_the_share_is_exact_on_average_for_short_texts_too():
    ids = rows([8] * 6000)  # 5 ordinary ids: 0.75 of them
    where = hidden(ids, run(ids))
    assert set(where.sum(axis=1)) == {0, 1}
    assert abs(where.mean() * 8 - 0.75) < 4 * 0.43 / np.sqrt(6000)


@pytest.mark.slow
def test_special_tokens_are_never_hidden_nor_drawn():
    ids = rows([30, 4, 12, 3, 27] * 50, low=1)
    assert (ids == 1).any()
    found = run(ids, rate=0.9)
    assert not hidden(ids, found)[ids < FIRST].any()
    changed = found["token_ids"] != ids
    assert set(np.unique(found["token_ids"][changed])) <= {4, *range(FIRST, SIZE)}


def words_of(row):
    """Returns the positions of each word; `##...` continues a word except after a special token."""
    words = []
    for position, n in enumerate(row):
        if TOKENIZER.vocabulary[n].startswith("##") and row[position - 1] >= FIRST:
            words[-1].append(position)
        elif n >= FIRST:
            words.append([position])
    return words


@pytest.mark.slow
def test_whole_words():
    ids = rows([40, 9, 55, 3] * 100, low=1)
    found = run(ids, whole_words=True)
    where, shares = hidden(ids, found), []
    for row, is_hidden in zip(ids, where, strict=True):
        words = words_of(row)
        states = [set(is_hidden[word]) for word in words]
        assert all(len(state) == 1 for state in states)
        count = sum(state == {True} for state in states)
        assert int(0.15 * len(words)) <= count <= int(0.15 * len(words)) + 1
        shares.append((count, len(words)))
    counts, sizes = np.array(shares).T
    assert abs(counts.sum() / sizes.sum() - 0.15) < 0.01
    assert not where[ids < FIRST].any()
    long = [word for row in ids for word in words_of(row) if len(word) > 1]
    assert len(long) > 100


def test_a_seed_says_it_all():
    ids = rows([20, 11] * 20)
    one, same, other = (run(ids, seed, rate=0.9) for seed in (5, 5, 6))
    for name, value in one.items():
        np.testing.assert_array_equal(value, same[name])
    assert (hidden(ids, one) != hidden(ids, other)).any()
    assert (hidden(ids, one)[0] != hidden(ids, one)[2]).any()  # rows differ too


def test_what_is_refused():
    with pytest.raises(ValueError, match="only special tokens"):
        TokenMasking(Pieces([]))
