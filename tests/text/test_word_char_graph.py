"""WordCharGraph and TokenIndexer: the ids of `WordCharIndexer` in a graph, and stored tables."""

import numpy as np
import pytest
import tensorflow as tf

from tfreps._src.text.word_char_graph import WordCharGraph
from tfreps.text import TokenIndexer, WordCharIndexer

CHARACTERS = [*"adeg海林да\u3000كت", "\ufffd", "\ufeff", "😀", "\u2028"]
WORDS = ["<pad>", "dog", "海", "да", "\u3000", "abcdefg", "\ufeffa", "é\u2028"]
TOKENS = [
    *("dog", "海林", "да", "تك", "😀", "<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "\u3000"),
    *("abcdefg", "abcdefghi", "海" * 30, "😀" * 8, "<bos>x", "<eos>\u0301", "<BOS>"),
    *(
        "e\u0301",
        "a\u200d",
        "👩‍👩‍👧‍👦",
        "\ufeffa",
        "a\ufeff",
        "a\0b",
        "\x07",
        "\U00010330",
        "é\u2028",
    ),
]
INVALID = [
    b"\xff",
    b"a\xc3",
    b"\xe6\xb5",
    b"\xed\xa0\x80",
    b"a\x80\x80b",
    b"\xc0\x80",
    b"\xe6\xb5a",
]


@pytest.fixture(
    params=[(CHARACTERS, WORDS), (CHARACTERS, None), (None, WORDS)],
    ids=["both", "characters", "words"],
)
def indexer(request):
    return WordCharIndexer(*request.param, max_characters=9)


def test_tokens_in_any_script(indexer, tmp_path):
    expected = indexer([TOKENS])
    for folder in None, str(tmp_path):
        graph = WordCharGraph(indexer, folder)
        found = graph(tf.constant([[*TOKENS, ""]])).numpy()
        for token, row, own in zip(TOKENS, found[0], expected[0], strict=False):
            assert row.tolist() == own.tolist(), token
        assert not found[:, -1].any()
    files = {path.stem for path in tmp_path.iterdir()}
    assert files == {name for name in ("characters", "words") if getattr(indexer, name)}


def test_bytes_that_are_not_utf8(indexer):
    found = WordCharGraph(indexer)(tf.constant(INVALID)).numpy()
    texts = [token.decode("utf-8", "replace") for token in INVALID]
    np.testing.assert_array_equal(found, indexer([texts])[0])


def test_empty_batches_and_given_ids_of_empty_tokens(indexer):
    graph, width = WordCharGraph(indexer), indexer([["a"]]).shape[-1]
    spec = tf.TensorSpec([None, None], tf.string)
    call = tf.function(graph, [spec], autograph=False)
    for shape in [2, 0], [0, 3], [0, 0]:
        assert call(tf.zeros(shape, tf.string)).shape == (*shape, width)
    empty = indexer([[""]])[0, 0]
    np.testing.assert_array_equal(graph(tf.constant(["", "a"]), empty), indexer([["", "a"]])[0])


def test_a_token_indexer(indexer, tmp_path):
    tokens = tf.constant([["dog", "海", ""]])
    both = TokenIndexer(["<S>", "</S>", "<UNK>", "dog"], word_characters=indexer)
    again = TokenIndexer.from_config(both.get_config())
    stored = both.with_vocabulary_file(tmp_path / "vocabulary.txt")
    for one in both, again, stored:
        features = one(tokens)
        assert features["token_ids"].numpy().tolist() == [[4, 3, 0]]
        ids = features["word_character_ids"].numpy()
        np.testing.assert_array_equal(ids[:, :2], indexer([["dog", "海"]]))
        assert not ids[:, 2].any()
    assert (tmp_path / "words.txt").is_file() == (indexer.words is not None)


def test_files(indexer, tmp_path):
    path = tmp_path / "word_characters.json"
    indexer.write(path)
    assert WordCharIndexer.read(path).get_config() == indexer.get_config()
    for text, message in [
        ("{}", "must have the keys characters and words"),
        ('{"characters": ["a", 1], "words": null, "max_characters": 9}', "must have the keys"),
        ('{"characters": ["a"], "words": "b", "max_characters": 9}', "must have the keys"),
        ('{"characters": ["a"], "words": null, "max_characters": 3}', "json: `max_characters`"),
        ('{"characters": ["a", "a"], "words": null, "max_characters": 9}', "each entry once; 'a'"),
        ('{"characters": [], "words": ["<oov>"], "max_characters": 9}', r"`words\[0\]` is '<oov>'"),
    ]:
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            WordCharIndexer.read(path)
