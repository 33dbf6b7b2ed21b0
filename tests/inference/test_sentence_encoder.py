"""Batching, stored token vectors and reading in segments do not change the vectors."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.tiny_run import VOCABULARY, make_pretrainer
from tfreps.inference import SentenceEncoder
from tfreps.text import batch_to_ids

pytestmark = pytest.mark.usefixtures("eager_if_quick")

SENTENCES = [
    "he put the money in the bank .".split(),
    [],
    ["zebra"],
    "the left bank of the river , of a river , of her house".split(),
    ["<S>", "", "x" * 60],
    "he put the money in the bank .".split(),
]


def one_by_one(bilm):
    """Returns the layers of each sentence alone, computed by the eager model."""
    return [
        bilm(np.zeros([1, 0, 50], np.int32) if not tokens else batch_to_ids([tokens]))[
            "layer_outputs"
        ][0]
        for tokens in SENTENCES
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("state", ["zero", pytest.param("warm", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "budget, kept",
    [
        (4096, 0),
        (30, 100),
        *(pytest.param(*both, marks=pytest.mark.slow) for both in [(5, 3), (1, 0)]),
    ],
)
def test_equal_to_the_model_sentence_by_sentence(state, budget, kept):
    bilm = make_pretrainer(num_layers=1).bilm.with_initial_state(state)
    encoder = SentenceEncoder(bilm, batch_tokens=budget)
    encoder.cache_tokens(["the", "river", "zebra", "</S>", "put", "bank"][:kept])
    found = dict(encoder.encode(SENTENCES))
    assert sorted(found) == list(range(len(SENTENCES)))
    for number, expected in enumerate(one_by_one(bilm)):
        assert found[number].dtype == np.float32
        assert_close(found[number], expected)


@pytest.mark.slow
def test_layers():
    bilm = make_pretrainer().bilm
    expected = one_by_one(bilm)
    for layers, factors in (
        ("top", [0, 0, 1]),
        ("average", [1 / 3, 1 / 3, 1 / 3]),
        ([0.5, 0, -2], [0.5, 0, -2]),
    ):
        for number, vectors in SentenceEncoder(bilm, None, 20, layers).encode(SENTENCES):
            mixed = np.tensordot(factors, expected[number], 1)
            assert_close(vectors, mixed)
    for number, vectors in SentenceEncoder(bilm, dtype="float16").encode(SENTENCES[:1]):
        assert vectors.dtype == np.float16 and vectors.shape == expected[number].shape


@pytest.mark.few(1)
@pytest.mark.parametrize("layers", ["bottom", [1.0, 2.0], 3])
def test_layers_that_there_are_not(layers):
    with pytest.raises(ValueError, match="`layers` must be one of all, top, average, the number"):
        SentenceEncoder(make_pretrainer().bilm, layers=layers)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [3, 4096])
def test_one_direction_and_token_ids(budget):
    options = {"vocabulary_size": len(VOCABULARY), "bidirectional": False, "num_layers": 1}
    bilm = make_pretrainer(**options).bilm
    encoder = SentenceEncoder(bilm, VOCABULARY, budget)
    encoder.cache_tokens(["river"])
    for number, vectors in encoder.encode(SENTENCES[:4]):
        ids = np.array([VOCABULARY.tokens_to_ids(SENTENCES[number])], np.int32) + 1
        expected = bilm(tf.constant(ids, tf.int32))["layer_outputs"][0]
        assert_close(vectors, expected)


@pytest.mark.slow
def test_kept_vectors_are_not_made_again():
    bilm = make_pretrainer().bilm
    encoder, done = SentenceEncoder(bilm), []
    encoder.cache_tokens([str(n) for n in range(1000)], done.append)
    assert done == [512, 1002]  # includes the sentence boundaries
    sentences = [["5", "new", "new", "1"]]
    [(_, before)] = encoder.encode(sentences)
    for weight in bilm.token_encoder.weights:
        weight.assign(2 * weight)
    [(_, after)] = encoder.encode(sentences)
    kept = np.all(before[0] == after[0], axis=-1)  # the vectors without context
    assert kept.tolist() == [True, False, False, True]


def test_refusals():
    bilm = make_pretrainer().bilm
    with pytest.raises(ValueError, match="carry"):
        SentenceEncoder(bilm.with_initial_state("carry"))
    with pytest.raises(ValueError, match="batch_tokens"):
        SentenceEncoder(bilm, batch_tokens=0)
    with pytest.raises(ValueError, match="vocabulary"):
        SentenceEncoder(make_pretrainer(vocabulary_size=len(VOCABULARY)).bilm)
