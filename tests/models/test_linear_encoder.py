"""Tests LinearEncoder against loops over features, and as part of a linear CRF."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.models.toy import VOCABULARY_SIZE
from tfreps.models import LinearEncoder

IDS = np.array([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0], [0, 0, 0, 0]], "int32")


def make(**kwargs):
    encoder = LinearEncoder(VOCABULARY_SIZE, 3, **kwargs)
    rng = np.random.default_rng(1)
    for weight in encoder.weights:
        weight.assign(rng.normal(size=weight.shape))
    return encoder


def test_unigrams_equal_loops():
    encoder = make(bigram_offsets=[])
    table = np.asarray(encoder.unigrams).reshape(5, -1, 3)
    out = encoder({"token_ids": IDS})["sequence_output"].numpy()
    for row, ids in enumerate(IDS):
        sentence = [VOCABULARY_SIZE + 1] * 2 + ids[ids > 0].tolist() + [VOCABULARY_SIZE + 2] * 2
        for t in range((ids > 0).sum()):
            expected = sum(table[number, sentence[t + number]] for number in range(5))
            assert_close(out[row, t], expected)
    np.testing.assert_array_equal(out[IDS == 0], 0.0)


def test_words_outside_the_training_data_share_a_row():
    frozen, whole = make(num_frozen_words=VOCABULARY_SIZE - 3), make()
    assert frozen.unigrams.shape[0] == 5 * (3 + 1 + 1 + 2)  # words, other words, padding, ends
    table = np.zeros([5, VOCABULARY_SIZE + 3, 3])
    rows = np.minimum(np.arange(VOCABULARY_SIZE + 1), 4).tolist() + [5, 6]  # start and end
    table[:] = np.asarray(frozen.unigrams).reshape(5, -1, 3)[:, rows]
    frozen.bigrams.assign(0 * frozen.bigrams)
    whole.bigrams.assign(0 * whole.bigrams)
    whole.unigrams.assign(table.reshape(-1, 3))
    expected = whole({"token_ids": IDS})["sequence_output"]
    assert_close(frozen({"token_ids": IDS})["sequence_output"], expected)
    with pytest.raises(ValueError, match="`num_frozen_words` must be at most .*, 5; got 6"):
        LinearEncoder(5, 3, num_frozen_words=6)


def test_dropout_leaves_out_whole_features_in_training_alone():
    encoder = make(unigram_offsets=[0], bigram_offsets=[], dropout=0.5)
    ids = np.tile(IDS[:1], (500, 1))
    table = np.asarray(encoder.unigrams)
    np.testing.assert_array_equal(encoder({"token_ids": ids})["sequence_output"], table[ids])
    y = encoder({"token_ids": ids}, training=True)["sequence_output"].numpy()
    kept = (y != 0).all(axis=-1)
    assert (kept == (y != 0).any(axis=-1)).all() and 0.45 < kept.mean() < 0.55
    assert_close(y[kept], 2 * table[ids][kept])
    assert LinearEncoder.from_config(encoder.get_config()).dropout == 0.5


def test_equal_pairs_have_equal_vectors_and_others_do_not():
    encoder = make(unigram_offsets=[], bigram_offsets=[0])
    ids = np.array([[1, 2, 1, 2, 3, 1, 2], [2, 1, 3, 0, 0, 0, 0]], "int32")
    y = encoder({"token_ids": ids})["sequence_output"].numpy()
    np.testing.assert_array_equal(y[0, 0], y[0, 2])  # 1, 2
    different = [y[0, 0], y[0, 1], y[0, 3], y[0, 4], y[0, 6], y[1, 1], y[1, 2]]
    assert len({tuple(vector) for vector in different}) == 7
    np.testing.assert_array_equal(y[0, 1], y[1, 0])  # 2, 1


def test_equal_triples_have_equal_vectors_and_others_do_not():
    encoder = make(unigram_offsets=[], bigram_offsets=[], trigram_offsets=[-1])
    ids = np.array([[1, 2, 3, 1, 2, 3, 2], [2, 3, 2, 0, 0, 0, 0]], "int32")
    y = encoder({"token_ids": ids})["sequence_output"].numpy()
    np.testing.assert_array_equal(y[0, 1], y[0, 4])  # 1, 2, 3
    np.testing.assert_array_equal(y[0, 5], y[1, 1])  # 2, 3, 2
    np.testing.assert_array_equal(y[0, 6], y[1, 2])  # 3, 2, end
    different = [y[0, 0], y[0, 1], y[0, 2], y[0, 3], y[0, 5], y[0, 6], y[1, 0]]
    assert len({tuple(vector) for vector in different}) == 7


def test_tokens_pairs_and_triples_are_added():
    encoder = make(trigram_offsets=[-1, 0])
    parts = []
    for kind in "unigrams", "bigrams", "trigrams":
        none = {"unigram_offsets": [], "bigram_offsets": []}
        offsets = {f"{kind[:-1]}_offsets": getattr(encoder, f"{kind[:-1]}_offsets")}
        part = LinearEncoder(VOCABULARY_SIZE, 3, **{**none, **offsets})
        part.weights[0].assign(getattr(encoder, kind))
        parts.append(part({"token_ids": IDS})["sequence_output"])
    out = encoder({"token_ids": IDS})["sequence_output"]
    assert_close(out, sum(parts))  # order of additions


@pytest.mark.parametrize("length, buckets", [(2, 2**18), (3, 2**20)])
def test_pairs_and_triples_are_spread_over_the_buckets(length, buckets):
    kind = {2: "bigram", 3: "trigram"}[length]
    offsets = {"unigram_offsets": [], "bigram_offsets": [], f"{kind}_offsets": [0]}
    encoder = LinearEncoder(2000, 1, **offsets)
    getattr(encoder, f"{kind}s").assign(np.arange(buckets)[:, None])  # each row is its number
    rng = np.random.default_rng(0)
    grams = np.unique(rng.integers(1, 2001, [50_000, length]), axis=0).astype("int32")
    found = encoder({"token_ids": grams})["sequence_output"][:, 0, 0].numpy()
    expected = buckets * (1 - (1 - 1 / buckets) ** len(grams))  # with perfectly random hashing
    assert len(np.unique(found)) > 0.97 * expected


@pytest.mark.parametrize(
    "options, message",
    [
        ({"unigram_offsets": [], "bigram_offsets": []}, "must not all be empty"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        LinearEncoder(**{"vocabulary_size": 5, "units": 3, **options})


def test_wrong_input():
    encoder = make()
    with pytest.raises(ValueError, match="'token_ids' is missing from \\['mask'\\]"):
        encoder({"mask": IDS > 0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Token ids must lie in 0..8"):
        encoder({"token_ids": np.array([[9]])})
