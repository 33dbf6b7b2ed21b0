import numpy as np

from tfreps._src.data.lm.word_rows import WordRows, as_inputs, as_targets, number_by_first_use
from tfreps.text import Vocabulary, token_character_ids

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])


def test_rows_of_words():
    words = WordRows(VOCABULARY, 6)
    rows = words.encode("a x b\n\n y\t x\r\n")
    assert rows.dtype == np.int32
    assert rows.tolist() == [3, 5, 4, -1, -1, 6, 5, -1]
    assert words.encode("").tolist() == []
    assert words.encode(("z " * 70_000 + "\n") * 2).tolist() == ([7] * 70_000 + [-1]) * 2
    assert words.unknown == ["x", "y", "z"]
    expected = [token_character_ids(word, 6).tolist() for word in ("z", "x")]
    assert words.characters(np.array([2, 0])).tolist() == expected
    assert [words.word(row) for row in (3, 5)] == [3, "x"]
    assert [words.row(word) for word in (3, "y", "w")] == [3, 6, 8]


def test_forget():
    words = WordRows(VOCABULARY, 6)
    words.encode("u v w x a\n")
    words.characters(np.array([0]))
    new_rows = words.forget(np.array([6, 8]))  # v and x
    assert new_rows[[1, 3]].tolist() == [5, 6]
    assert words.unknown == ["v", "x"] and "u" not in words
    assert words.encode("x u v a\n").tolist() == [6, 7, 5, 3, -1]
    expected = [token_character_ids(word, 6).tolist() for word in ("v", "x", "u")]
    assert words.characters(np.array([0, 1, 2])).tolist() == expected


def test_inputs_and_targets():
    rows = np.array([3, 5, -1, -1, 4, -1], np.int32)  # a x | (blank) | b
    assert as_inputs(rows, VOCABULARY, False).tolist() == [0, 3, 5, 0, 0, 4]
    assert as_targets(rows, VOCABULARY, False).tolist() == [3, 2, 1, 1, 4, 1]
    assert as_inputs(rows, VOCABULARY, True).tolist() == [1, 3, 5, 1, 1, 4]
    assert as_targets(rows, VOCABULARY, True).tolist() == [3, 2, 0, 0, 4, 0]


def test_number_by_first_use():
    rows = np.array([[3, 9, 7], [9, 4, 8]], np.int32)
    assert number_by_first_use(rows, 5).tolist() == [4, 2, 3]
    assert rows.tolist() == [[3, 5, 6], [5, 4, 7]]
    assert number_by_first_use(np.array([1, 2], np.int32), 5).tolist() == []
