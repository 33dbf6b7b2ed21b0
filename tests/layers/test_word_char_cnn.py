"""WordCharCNNEncoder against its character CNN and a plain projection."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.layers import WordCharCNNEncoder
from tfreps.text import WordCharIndexer

INDEXER = WordCharIndexer(list("adgo"), ["dog", "a"], max_characters=8)
OPTIONS = {"filters": [[1, 3], [2, 4]], "projection_dim": 5, "max_characters": 8}
OPTIONS |= {"num_character_ids": INDEXER.num_character_ids, "word_dim": 3, "character_dim": 2}


def test_one_projection_of_both_vectors():
    encoder = WordCharCNNEncoder(**OPTIONS, vocabulary_size=INDEXER.vocabulary_size)
    ids = INDEXER([["dog", "a", "cat", "dog"], ["a"]])
    vectors = encoder(ids).numpy()
    words = np.asarray(encoder.words)[ids[..., 0]]
    both = np.concatenate([words, encoder.character_cnn(ids[..., 1:])], axis=-1)
    expected = both @ np.asarray(encoder.projection_kernel)
    real = ids[..., 0] > 0
    assert_close(vectors[real], expected[real])
    assert (vectors[~real] == 0).all()


def test_characters_alone():
    encoder = WordCharCNNEncoder(**OPTIONS)
    ids = INDEXER([["dog", "cat"]])[..., 1:]
    vectors = encoder(ids)
    expected = encoder.character_cnn(ids).numpy() @ np.asarray(encoder.projection_kernel)
    assert_close(vectors, expected)


def test_words_alone():
    options = {**OPTIONS, "num_character_ids": None}
    encoder = WordCharCNNEncoder(**options, vocabulary_size=INDEXER.vocabulary_size)
    ids = WordCharIndexer(None, ["dog", "a"], max_characters=8)([["dog", "cat"]])
    assert ids.tolist() == INDEXER([["dog", "cat"]])[..., :1].tolist()
    vectors = encoder(ids)
    expected = np.asarray(encoder.words)[ids[..., 0]] @ np.asarray(encoder.projection_kernel)
    assert_close(vectors, expected)
    with pytest.raises(ValueError, match="`num_character_ids` or `vocabulary_size` must be an int"):
        WordCharCNNEncoder(**options)


def test_ids_that_are_too_large():
    encoder = WordCharCNNEncoder(**OPTIONS, vocabulary_size=INDEXER.vocabulary_size)
    ids = INDEXER([["dog"]])
    for column, id_ in (0, INDEXER.vocabulary_size + 1), (2, INDEXER.num_character_ids):
        wrong = ids.copy()
        wrong[..., column] = id_
        with pytest.raises(tf.errors.InvalidArgumentError, match="ids must lie in 0"):
            encoder(wrong)
