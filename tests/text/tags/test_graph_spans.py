"""Spans in a graph compared with those in Python, for every scheme."""

import numpy as np
import pytest
import tensorflow as tf

from tfreps import tags as tag_sequences
from tfreps._src.text.tags.graph_spans import padded_spans
from tfreps._src.text.tags.tag_schemes import LETTERS, span_rules


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["strict", "conlleval"])
@pytest.mark.parametrize("scheme", ["bio", "iob1", "bioes", "bilou", "bmes"])
def test_padded_spans_are_those_of_each_sentence(scheme, mode):
    """Compares the spans of random tags, with an empty row and a row as long as the batch."""
    rng = np.random.default_rng(3)
    names = ["O"] + [f"{letter}-{kind}" for kind in ("A", "B") for letter in LETTERS[scheme]]
    rules = span_rules(names, scheme, mode)
    lengths = np.append(rng.integers(0, 12, 200), [0, 12])
    ids = rng.integers(0, len(names), [len(lengths), 12])
    mask = np.zeros(ids.shape, bool)
    for row, length in enumerate(lengths):
        mask[row, rng.choice(12, length, replace=False)] = True  # gaps and padding on both sides
    find = tf.function(lambda tags, mask: padded_spans(tags, mask, rules))
    types, starts, ends = np.moveaxis(find(ids.astype("int32"), mask).numpy(), -1, 0)
    most = 0
    for row in range(len(ids)):
        expected = tag_sequences.spans([names[i] for i in ids[row, mask[row]]], scheme, mode)
        found = types[row] >= 0
        assert found[: len(expected)].all() and not found[len(expected) :].any()
        kinds = [rules.type_names[kind] for kind in types[row][found]]
        assert list(zip(kinds, starts[row][found], ends[row][found], strict=True)) == expected
        most = max(most, len(expected))
    assert types.shape[1] == most > 2 and starts[types < 0].max() == 0


def test_a_batch_without_tokens():
    rules = span_rules(["O", "B-A", "I-A"], "bio")
    found = padded_spans(tf.zeros([2, 0], tf.int32), tf.zeros([2, 0], bool), rules)
    assert found.shape == (2, 0, 3)
