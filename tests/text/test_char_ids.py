import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfreps._src.text.char_ids import token_rows
from tfreps.text import (
    NUM_CHARACTER_IDS,
    PADDING_CHARACTER,
    batch_to_ids,
    character_ids,
    sentence_end_ids,
    sentence_start_ids,
    token_character_ids,
)

# text() of hypothesis excludes surrogates; these are all code points that a str can contain.
ANY_TEXT = st.text(st.characters(codec=None, categories=None))
# Also the boundary tokens and words near the byte limit.
TOKENS = st.one_of(
    ANY_TEXT,
    st.text(min_size=10, max_size=70),
    st.text("aé日😀\0", max_size=60),
    st.sampled_from(["<S>", "</S>", "<UNK>", "<s>", ""]),
)


def plain(token, max_characters):
    """Reference implementation: elmo.md 2.1 literally, then + 1."""
    if token == "<S>":
        ids = [258, 256, 259]
    elif token == "</S>":
        ids = [258, 257, 259]
    else:
        ids = [258, *token.encode("utf-8", "ignore")[: max_characters - 2], 259]
    ids += [260] * (max_characters - len(ids))
    return [i + 1 for i in ids]


def test_published_example():
    # The article's "english" -> 101,110,103,108,105,115,104 plus the shift, between its markers.
    expected = [259, 102, 111, 104, 109, 106, 116, 105, 260] + [261] * 41
    assert token_character_ids("english").tolist() == expected
    assert PADDING_CHARACTER == 261 and NUM_CHARACTER_IDS == 262


def test_boundaries():
    assert sentence_start_ids(5).tolist() == [259, 257, 260, 261, 261]
    assert sentence_end_ids(5).tolist() == [259, 258, 260, 261, 261]
    assert token_character_ids("<S>", 5).tolist() == sentence_start_ids(5).tolist()
    assert token_character_ids("</S>", 5).tolist() == sentence_end_ids(5).tolist()


def test_cut_splits_characters():
    row = token_character_ids("é" * 30)  # 60 bytes, 48 of which fit
    assert row.tolist() == [259] + [0xC3 + 1, 0xA9 + 1] * 24 + [260]
    assert token_character_ids("日日", 6).tolist() == [
        259,
        0xE6 + 1,
        0x97 + 1,
        0xA5 + 1,
        0xE6 + 1,
        260,
    ]


def test_lone_surrogates_vanish():
    assert token_character_ids("a\ud800b", 6).tolist() == [259, 98, 99, 260, 261, 261]
    assert token_character_ids("\udfff", 4).tolist() == [259, 260, 261, 261]
    assert token_character_ids("", 4).tolist() == [259, 260, 261, 261]


@pytest.mark.slow
@given(st.lists(TOKENS, max_size=8), st.integers(3, 60))
def test_equals_the_definition(tokens, max_characters):
    rows = token_rows(tokens, max_characters)
    assert rows.dtype == np.int32 and rows.shape == (len(tokens), max_characters)
    assert rows.tolist() == [plain(token, max_characters) for token in tokens]


def test_batch_to_ids():
    ids = batch_to_ids([["I", "have", "a", "dog"], [], ["That"]])
    assert ids.dtype == np.int32 and ids.shape == (3, 4, 50)
    assert ids[0].tolist() == [plain(t, 50) for t in ["I", "have", "a", "dog"]]
    assert ids[2, 0].tolist() == plain("That", 50)
    assert not ids[1].any() and not ids[2, 1:].any()
    assert batch_to_ids([]).shape == (0, 0, 50)
    assert batch_to_ids([[]]).shape == (1, 0, 50)
    assert batch_to_ids([["word"]], max_characters=7).shape == (1, 1, 7)


@pytest.mark.parametrize("bad", [["I have a dog"], [["I", 3]], [[b"dog"]]])
def test_batch_to_ids_refuses(bad):
    with pytest.raises(ValueError, match=r"`sentences\[0\]"):
        batch_to_ids(bad)


def test_too_few_characters():
    for make in (token_character_ids, character_ids):
        with pytest.raises(ValueError, match="at least 3"):
            make("a", 2)


# A str with lone surrogates cannot become a TensorFlow string tensor (the conversion to UTF-8
# fails), so for the comparison they are dropped beforehand, as the Python function does itself.
@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(TOKENS, max_size=8), st.sampled_from([3, 4, 10, 50]))
def test_in_graph_equals_python(tokens, max_characters):
    encoded = [token.encode("utf-8", "ignore") for token in tokens]
    expected = token_rows(tokens, max_characters)
    expected[[not token for token in encoded]] = 0  # "" means "no token" in the graph
    ids = character_ids(tf.constant(encoded, tf.string, [len(tokens)]), max_characters)
    assert ids.dtype == tf.int32 and ids.shape == (len(tokens), max_characters)
    np.testing.assert_array_equal(ids, expected)


def test_in_graph_any_rank():
    assert character_ids(tf.constant("dog")).shape == (50,)
    assert character_ids(tf.constant([["a"], ["b"]])).shape == (2, 1, 50)
    assert character_ids(tf.zeros([2, 0, 3], tf.string)).shape == (2, 0, 3, 50)


def test_in_graph_through_saved_model(tmp_path):
    module = tf.Module()
    module.ids = tf.function(
        lambda words: character_ids(words), [tf.TensorSpec([None, None], tf.string)]
    )
    tf.saved_model.save(module, str(tmp_path))
    words = [["I", "have"], ["That", ""]]
    ids = tf.saved_model.load(str(tmp_path)).ids(tf.constant(words))
    np.testing.assert_array_equal(ids, batch_to_ids([["I", "have"], ["That"]]))


def test_import_is_cheap():
    code = (
        "import sys, tfreps.text; sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
