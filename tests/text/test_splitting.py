"""The graph splits as Python does: `str.split` is the oracle."""

import hypothesis
import tensorflow as tf
from hypothesis import strategies

from tfreps.text.splitting import split_tokens

WHITE_SPACE = "".join(c for c in map(chr, range(0x110000)) if c.isspace())
# What looks like white space and is none: zero-width space, Mongolian separator, BOM, NUL.
OTHERS = "ab.é中😀\u200b\u180e\ufeff\u2060\0\x1b\x84\x86"


def split(sentences):
    rows = split_tokens(tf.constant(sentences, tf.string)).numpy().tolist()
    return [[token.decode() for token in row if token] for row in rows]


def test_every_character_there_is():
    characters = [c for c in map(chr, range(0x110000)) if not 0xD800 <= ord(c) < 0xE000]
    sentences = ["a" + c + "b" for c in characters]
    tokens = split_tokens(tf.constant(sentences))  # [N, 2]
    is_split = (tokens[:, 1] != "").numpy()
    found = "".join(c for c, two in zip(characters, is_split, strict=True) if two)
    assert found == WHITE_SPACE and len(found) == 29


@hypothesis.settings(deadline=None, max_examples=200)
@hypothesis.given(strategies.lists(strategies.text(strategies.sampled_from(WHITE_SPACE + OTHERS))))
def test_equal_to_str_split(sentences):
    assert split(sentences) == [sentence.split() for sentence in sentences]


def test_padding_and_unknown_shapes():
    function = tf.function(split_tokens, [tf.TensorSpec([None], tf.string)])
    assert function(tf.constant(["a b", "", " \u3000"])).numpy().tolist() == [
        [b"a", b"b"],
        [b"", b""],
        [b"", b""],
    ]
    assert function(tf.constant([], tf.string)).shape == (0, 0)
    assert function(tf.constant([b"\xff\xfe a"])).numpy().tolist() == [[b"\xff\xfe", b"a"]]
