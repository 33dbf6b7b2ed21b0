"""Tests tables of word vectors whose vocabulary has the words of a file."""

import argparse

import numpy as np
import pytest
import tensorflow as tf

from tfreps.text import TokenIndexer
from tfreps.training.inputs import word_tables
from tfreps.training.inputs.word_tables import read_word_table

LINES = "the 1 2\ncat 3 4\nhouse 5 6\nCat 7 8\nx\ry 9 9\ncat 0 0\n007 1 1\n"
SENTENCES = [["The", "dog"], ["The", "cat"]]


def table(folder, lines=LINES, limit=None, fallback=True, lines_of=print, **options):
    path = folder / "vectors.txt"
    path.write_bytes(lines.encode())
    given = {"vectors": str(path), "max_vocabulary": limit, "seed": 1}
    indexer = TokenIndexer.from_sentences(
        SENTENCES, max_size=limit, lowercase_fallback=fallback, **options
    )
    given = argparse.Namespace(**given, lowercase_fallback=fallback)
    return read_word_table(given, indexer, lines_of)


def test_words_of_the_training_data_then_those_of_the_file(tmp_path):
    found = table(tmp_path)
    tokens = found.indexer.vocabulary.tokens
    assert tokens[3:] == ["The", "cat", "dog", "the", "house", "Cat", "007"]
    assert found.num_frozen_words == 4
    rows = dict(zip(tokens, found.vectors.matrix.tolist(), strict=True))
    expected = {"The": [1, 2], "cat": [3, 4], "the": [1, 2], "house": [5, 6], "Cat": [7, 8]}
    assert {word: rows[word] for word in expected} == expected


def test_missing_words_are_uniform(tmp_path):
    few = table(tmp_path)
    missing = few.vectors.matrix[~few.vectors.found]
    assert missing.shape == (4, 2) and 0 < np.abs(missing).max() <= (3 / 2) ** 0.5
    np.testing.assert_array_equal(table(tmp_path).vectors.matrix, few.vectors.matrix)
    vectors = few.vectors._replace(matrix=np.zeros([9999, 50], "f"), found=np.arange(9999) < 1)
    word_tables.fill_missing(vectors, seed=0)
    assert np.abs(vectors.matrix).max() == pytest.approx((3 / 50) ** 0.5, rel=1e-3)
    assert vectors.matrix[1:].std() == pytest.approx(50**-0.5, rel=0.01)
    assert not vectors.matrix[0].any()


def test_lookup_in_lower_case(tmp_path):
    def words(fallback):
        found = table(tmp_path, fallback=fallback)
        ids = found.indexer(tf.constant([["The", "HOUSE", "Cat", "CAT", "Dogs", "the"]]))
        ids = ids["token_ids"].numpy()[0] - 1
        return [found.indexer.vocabulary.tokens[n] for n in ids]

    assert words(True) == ["The", "house", "Cat", "cat", "<UNK>", "the"]
    assert words(False) == ["The", "<UNK>", "Cat", "<UNK>", "<UNK>", "the"]


def test_words_that_no_lookup_finds_are_left_out(tmp_path):
    tokens = table(tmp_path, lowercase=True, digits_to_zero=True).indexer.vocabulary.tokens
    assert tokens[3:] == ["the", "cat", "dog", "house"]
    tokens = table(tmp_path, lowercase=True).indexer.vocabulary.tokens
    assert tokens[3:] == ["the", "cat", "dog", "house", "007"]


def test_the_limit_keeps_the_training_words_and_the_first_of_the_file(tmp_path):
    shown = []
    found = table(tmp_path, limit=8, lines_of=shown.append)
    assert found.indexer.vocabulary.tokens[3:] == ["The", "cat", "dog", "the", "house"]
    assert found.num_frozen_words == 2 and found.vectors.matrix.shape == (8, 2)
    assert "which is then full (option max_vocabulary)" in shown[0]
    found = table(tmp_path, limit=5)
    assert found.indexer.vocabulary.tokens[3:] == ["The", "cat"] and found.num_frozen_words == 0


@pytest.mark.parametrize("name, limit", [("MAX_WORDS", 7), ("MAX_BYTES", 7 * 2 * 4)])
def test_the_limit_without_an_option(tmp_path, monkeypatch, name, limit):
    monkeypatch.setattr(word_tables, name, limit)
    assert len(table(tmp_path).indexer.vocabulary) == 7


def test_many_words(tmp_path, monkeypatch):
    monkeypatch.setattr(word_tables, "BLOCK", 7)
    lines = "".join(f"w{n} {n} 0\n" for n in range(100))
    shown = []
    found = table(tmp_path, lines, lines_of=shown.append)
    assert found.indexer.vocabulary.tokens[6:] == [f"w{n}" for n in range(100)]
    np.testing.assert_array_equal(found.vectors.matrix[6:, 0], np.arange(100))
    assert shown[0].startswith("Word vectors: 0 of 6 words have a vector in")
    assert "The table has 106 x 2 numbers (0 MB)." in shown[0]


def test_an_empty_file(tmp_path):
    with pytest.raises(ValueError, match="the file is empty"):
        table(tmp_path, "")


def test_no_word_of_the_training_data_has_a_vector(tmp_path):
    said = []
    table(tmp_path, "maison 1 2\n", lines_of=said.append)
    assert "0 of 6 words have a vector" in said[0]
    assert said[1].startswith("Warning: no word of the training data has a vector")
    table(tmp_path, lines_of=said.append)
    assert len(said) == 3


def test_a_folder_with_an_array(tmp_path):
    words = tmp_path / "glove"
    words.mkdir()
    np.save(words / "glove.npy", np.eye(2, dtype="f"))
    (words / "words").write_text("")
    options = argparse.Namespace(vectors=str(words), max_vocabulary=None, seed=1)
    options.lowercase_fallback = True
    with pytest.raises(ValueError, match="glove.npy has no words: expected glove.txt"):
        read_word_table(options, TokenIndexer.from_sentences(SENTENCES), print)
