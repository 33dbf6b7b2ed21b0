import json

import numpy as np
import pytest
import tensorflow as tf

from tfreps.text import TokenIndexer, Vocabulary, token_character_ids

TOKENS = ["<S>", "</S>", "the", "<UNK>", "cat", "über", "000"]
SENTENCES = [["The", "cat", "ÜBER"], ["dog"], []]
PADDED = [["The", "cat", "ÜBER"], ["dog", "", ""], ["", "", ""]]


def check(element):
    assert sorted(element) == ["character_ids", "mask", "token_ids"]
    assert {name: value.dtype for name, value in element.items()} == {
        "token_ids": tf.int32,
        "character_ids": tf.int32,
        "mask": tf.bool,
    }
    assert element["token_ids"].numpy().tolist() == [[3, 5, 6], [4, 0, 0], [0, 0, 0]]
    assert element["mask"].numpy().tolist() == [[True] * 3, [True, False, False], [False] * 3]
    expected = np.zeros([3, 3, 7], np.int32)
    for row, sentence in enumerate(SENTENCES):
        for column, token in enumerate(sentence):
            expected[row, column] = token_character_ids(token, 7)  # case does not change
    np.testing.assert_array_equal(element["character_ids"], expected)


def make():
    return TokenIndexer(TOKENS, lowercase=True, max_characters=7)


def test_eager_graph_and_data():
    features = make()
    check(features(tf.constant(PADDED)))
    check(tf.function(features)(tf.constant(PADDED)))
    check(tf.function(features, [tf.TensorSpec([None, None], tf.string)])(tf.constant(PADDED)))
    (element,) = tf.data.Dataset.from_tensors(tf.constant(PADDED)).map(features)
    check(element)


def test_lowercase_fallback(tmp_path):
    tokens = ["<S>", "</S>", "<UNK>", "the", "The", "über", "0"]
    indexer = TokenIndexer(tokens, lowercase_fallback=True, digits_to_zero=True)
    texts = tf.constant([["The", "THE", "the", "ÜBER", "Dog", "7", ""]])
    expected = [[5, 4, 4, 6, 3, 7, 0]]
    copies = indexer, TokenIndexer.from_config(indexer.get_config())
    for copy in (*copies, indexer.with_vocabulary_file(tmp_path / "words.txt")):
        assert copy(texts)["token_ids"].numpy().tolist() == expected
    plain = TokenIndexer(tokens)
    assert plain(texts)["token_ids"].numpy().tolist() == [[5, 3, 4, 3, 3, 3, 0]]


def test_lower_case_of_any_locale():
    """The test process has the locale tr_TR, in which TensorFlow lowercases I to ı."""
    tokens = ["İSTANBUL", "IS", "IN", "Italy", "ÌTALY", "istanbul"]
    indexer = TokenIndexer.from_sentences([tokens], lowercase=True)
    assert sorted(indexer.vocabulary.tokens[3:]) == sorted({token.lower() for token in tokens})
    for options in {"lowercase": True}, {"lowercase_fallback": True}:
        known = TokenIndexer(indexer.vocabulary, **options)
        ids = known([["ISTANBUL", "is", "In", "ITALY"]])["token_ids"][0].numpy().tolist()
        expected = [
            indexer.vocabulary.tokens.index(t) + 1 for t in ("istanbul", "is", "in", "italy")
        ]
        assert ids == expected


def test_made_inside_a_graph():
    """The table is created outside the graph; otherwise it would be deleted with it."""
    made = []

    @tf.function
    def function(tokens):
        made.append(made[0] if made else make())
        return made[0](tokens)

    check(function(tf.constant(PADDED)))


def test_other_shapes():
    features = make()
    assert features(tf.zeros([2, 0], tf.string))["character_ids"].shape == (2, 0, 7)
    holes = features([["", "cat", "", "dog"]])
    assert holes["token_ids"].numpy().tolist() == [[0, 5, 0, 4]]
    assert holes["mask"].numpy().tolist() == [[False, True, False, True]]


def test_which_features():
    tokens = tf.constant(PADDED)
    assert list(TokenIndexer()(tokens)) == ["mask"]
    assert sorted(TokenIndexer(TOKENS)(tokens)) == ["mask", "token_ids"]
    assert sorted(TokenIndexer(max_characters=5)(tokens)) == ["character_ids", "mask"]
    assert TokenIndexer(TOKENS)(tokens)["token_ids"][0].numpy().tolist() == [4, 5, 4]
    assert TokenIndexer(TOKENS).vocabulary_size == 7 and TokenIndexer().vocabulary_size is None


def test_digits():
    features = TokenIndexer(TOKENS, digits_to_zero=True)
    assert features([["123", "٣٤٥", "1234", "12²"]])["token_ids"].numpy().tolist() == [[7, 7, 4, 4]]
    assert features.normalize(["a1-٣", "½²"]).numpy().tolist() == [b"a0-0", "½²".encode()]


def test_ids_are_the_vocabularys():
    vocabulary = Vocabulary(TOKENS)
    tokens = ["cat", "dog", "<UNK>", "<S>", "", "000"]
    ids = TokenIndexer(vocabulary)([tokens])["token_ids"][0].numpy()
    known = vocabulary.tokens_to_ids(tokens)
    expected = [id + 1 if token else 0 for id, token in zip(known, tokens, strict=True)]
    assert ids.tolist() == expected


def test_config():
    features = make()
    config = json.loads(json.dumps(features.get_config()))
    assert config["vocabulary"] == TOKENS
    again = TokenIndexer.from_config(config)
    check(again(tf.constant(PADDED)))
    assert again.get_config() == features.get_config()
    empty = {"vocabulary": None, "lowercase": False, "digits_to_zero": False}
    empty |= {"lowercase_fallback": False, "max_characters": None, "word_characters": None}
    assert TokenIndexer().get_config() == empty


def test_from_sentences():
    sentences = [["The", "cat", "1"], ["the", "Cat", "2", "\u3000", "a\u3000"], ["dog", ""]]
    options = {"lowercase": True, "digits_to_zero": True, "max_characters": 9}
    features = TokenIndexer.from_sentences(sentences, **options)
    assert features.vocabulary.tokens[3:] == ["0", "cat", "the", "dog"]
    assert features.get_config()["max_characters"] == 9
    rarer = TokenIndexer.from_sentences(sentences, min_count=2, max_size=5, **options)
    assert rarer.vocabulary.tokens[3:] == ["0", "cat"]
    assert features([["\u3000"]])["token_ids"].numpy().tolist() == [[3]]  # unknown
    assert TokenIndexer.from_sentences([["a\0", "a\n", "b c"]]).vocabulary.tokens[3:] == ["b c"]
    assert TokenIndexer.from_sentences([]).vocabulary_size == 3


def test_errors():
    with pytest.raises(ValueError, match="`max_characters` must be at least 3"):
        TokenIndexer(max_characters=2)
    with pytest.raises(ValueError, match="found no <S> or </S>"):
        TokenIndexer(["a", "<UNK>"])
    with pytest.raises(ValueError, match="line 4: 'a' is already on line 3"):
        TokenIndexer(["<S>", "</S>", "a", "a", "<UNK>"])
    with pytest.raises(ValueError, match="got the string 'vocabulary.txt'"):
        TokenIndexer("vocabulary.txt")
    for tokens in ([["a", "b"], ["a"]], tf.ragged.constant([["a", "b"], ["a"]]), [[3]]):
        with pytest.raises(ValueError, match=r"`tokens` must be a str tensor \[B, T\], padded"):
            TokenIndexer(["<S>", "</S>", "<UNK>"])(tokens)
