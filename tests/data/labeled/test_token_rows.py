import numpy as np
import pytest
import tensorflow as tf

from tfreps._src.data.labeled.token_rows import TokenRows
from tfreps.text import TokenIndexer

SENTENCES = [["a", "dog", "sat", "a"], [], ["The", "dog"]]
FEATURES = TokenIndexer.from_sentences(SENTENCES, max_characters=6)


def test_a_batch_is_what_the_features_make_of_it():
    rows = TokenRows(SENTENCES, FEATURES, None)
    assert rows.lengths.tolist() == [4, 0, 2]
    batch = rows.batch(np.array([2, 0, 1]), 5)
    padded = [["The", "dog", "", "", ""], ["a", "dog", "sat", "a", ""], [""] * 5]
    expected = FEATURES(tf.constant(padded))
    assert sorted(batch) == sorted(expected)
    for name, spec in rows.specs.items():
        np.testing.assert_array_equal(batch[name], expected[name])
        assert spec.is_compatible_with(expected[name]), name


def test_many_distinct_tokens():
    """There are more tokens than are passed to TensorFlow at once."""
    sentence = [str(n) for n in range(70_000)]
    rows = TokenRows([sentence], TokenIndexer(max_characters=8), None)
    ids = rows.batch(np.array([0]), 70_000)["character_ids"]
    expected = TokenIndexer(max_characters=8)(tf.constant([sentence]))["character_ids"]
    np.testing.assert_array_equal(ids, expected)


def test_cut():
    rows = TokenRows(SENTENCES, FEATURES, 2)
    assert rows.lengths.tolist() == [2, 0, 2]
    batch = rows.batch(np.array([0]), 3)
    np.testing.assert_array_equal(
        batch["token_ids"], FEATURES(tf.constant([["a", "dog", ""]]))["token_ids"]
    )


def test_only_empty_sentences():
    rows = TokenRows([[], []], FEATURES, None)
    assert rows.batch(np.array([1, 0]), 1)["mask"].tolist() == [[False], [False]]


@pytest.mark.parametrize(
    "sentences, message",
    [
        ([["a"], "a b"], "sentence 1 .* is the string 'a b'. Tokenize the string first"),
        ([["a"], ["b", ""]], "Sentence 1 .*: token 1 is the empty string"),
        ([["a", 3]], "must be strings; got 3 of type int"),
    ],
)
def test_errors(sentences, message):
    with pytest.raises(ValueError, match=message):
        TokenRows(sentences, FEATURES, None)
