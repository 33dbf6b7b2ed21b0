"""WordCharIndexer: ids of words and characters, boundaries, and tokens that are too long."""

import pytest

from tfreps._src.text.word_char_ids import boundary_rows
from tfreps.text import WordCharIndexer

OOV, BOS, EOS, START, END, PAD = range(4, 10)  # after three characters


@pytest.fixture
def indexer():
    return WordCharIndexer(["a", "é", "海"], ["a", "aaaaa", "aaaaaaaa"], max_characters=7)


def test_sizes(indexer):
    assert (indexer.num_character_ids, indexer.vocabulary_size) == (10, 6)
    assert indexer([]).shape == (0, 0, 8) and indexer([[], ["a"]]).shape == (2, 1, 8)
    without = WordCharIndexer(["a"], max_characters=7)
    assert without.vocabulary_size is None and without([["a"]]).shape == (1, 1, 7)
    alone = WordCharIndexer(None, ["a"], max_characters=7)
    assert alone.num_character_ids is None and alone([["a", "b"]]).tolist() == [[[1], [2]]]
    with pytest.raises(ValueError, match="`characters` or `words` must be a list"):
        WordCharIndexer(None)


@pytest.mark.parametrize(
    "token, ids",
    [
        ("a", [1, START, 1, END, PAD, PAD, PAD, PAD]),
        ("海é?", [4, START, 3, 2, OOV, END, PAD, PAD]),
        ("", [4, START, END, PAD, PAD, PAD, PAD, PAD]),
        ("aaaaaaaa", [2, START, 1, 1, 1, 1, 1, END]),  # the word of the first five characters
        ("<bos>", [5, START, BOS, END, PAD, PAD, PAD, PAD]),
        ("<eos>", [6, START, EOS, END, PAD, PAD, PAD, PAD]),
        ("<oov>", [4, START, OOV, OOV, OOV, OOV, OOV, END]),
        ("e\u0301", [4, START, OOV, OOV, END, PAD, PAD, PAD]),  # no normalization
    ],
)
def test_tokens(indexer, token, ids):
    assert indexer([["a", token], ["a"]])[:, 1].tolist() == [ids, [0] * 8]


@pytest.mark.parametrize("lists", [(["a", "b"], ["a"]), (["a", "b"], None), (None, ["a"])])
def test_boundaries(lists):
    indexer = WordCharIndexer(*lists, max_characters=7)
    rows = boundary_rows(indexer.num_character_ids, indexer.vocabulary_size, 7)
    assert [row.tolist() for row in rows] == indexer([["<bos>", "<eos>"]])[0].tolist()


def test_errors(indexer):
    with pytest.raises(ValueError, match="`max_characters` must be .*7"):
        WordCharIndexer(["a"], max_characters=6)
    with pytest.raises(ValueError, match="Each of `sentences`"):
        indexer(["a dog"])
    with pytest.raises(ValueError, match=r"`sentences\[0\]\[1\]` is 3"):
        indexer([["a", 3]])
