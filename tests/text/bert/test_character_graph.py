"""The graph of core operations equals the Python implementation on every text."""

import hypothesis
import pytest
import tensorflow as tf
from hypothesis import strategies

from tfreps.text import CharacterTokenizer

OPTIONS = [
    {},
    {"lowercase": False},
    {"numbers": False},
    {"whole_words": False},
    {"keep_white_space": True},
    {"numbers": False, "whole_words": False, "keep_white_space": True},
]
KNOWN = ["aB 3.7 .é\n\u3000 \x1c Σσς İı \ufffd\u0301#"]
ALPHABET = strategies.one_of(
    strategies.sampled_from("aabBzÉé37.. ,#\0\n\t\x0b\x1c\x85\u3000ΣİK\ufffd房"),
    strategies.characters(exclude_categories=["Cs"]),
)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@hypothesis.settings(max_examples=40)
@hypothesis.given(texts=strategies.lists(strategies.text(ALPHABET, max_size=12), max_size=4))
def test_any_texts(options, texts):
    tokenizer = made(options)
    strings = tf.constant(texts, tf.string)
    assert tokenizer(strings).to_list() == [tokenizer.text_to_ids(text) for text in texts]


def made(options, kept={}):  # noqa: B006
    """Returns one graph for all examples, because creating a table takes time."""
    return kept.setdefault(str(options), CharacterTokenizer.from_texts(KNOWN, **options))


@pytest.mark.slow
def test_in_a_dataset_and_as_a_saved_model(tmp_path):
    tokenizer = CharacterTokenizer.from_texts(["房 wifi"])
    (ids,) = tf.data.Dataset.from_tensors(["WIFI 房 2", ""]).map(tokenizer)
    assert ids.to_list() == [[20, 21, 5], []] and ids.dtype == tf.int32
    module = tf.Module()
    module.graph = tokenizer.graph()
    spec = tf.TensorSpec([None], tf.string)
    module.ids = tf.function(lambda strings: module.graph(strings).to_tensor(), [spec])
    tf.saved_model.save(module, tmp_path / "saved")
    again = tf.saved_model.load(tmp_path / "saved")
    assert again.ids(["WIFI 房 2", ""]).numpy().tolist() == [[20, 21, 5], [0, 0, 0]]


def test_bytes_that_are_no_utf8():
    tokenizer = CharacterTokenizer.from_texts(["ab\ufffd"])
    assert tokenizer([b"a\xffb", b""]).to_list() == [[1, 21, 1], []]
    assert tokenizer.text_to_ids("a\ufffdb") == [1, 21, 1]
