"""Every layer that takes a mask rejects shapes other than [B, T] and never broadcasts."""

import numpy as np
import pytest
import tensorflow as tf

from tfreps._src.layers.ops import chain
from tfreps._src.layers.ops.masks import as_mask, check_shape
from tfreps.layers import (
    CRF,
    SLSTM,
    Pooling,
    PositionEmbedding,
    ScalarMix,
    SelfAttention,
    SLSTMCell,
    TransformerBlock,
)

X = tf.ones([2, 5, 8])
LAYERS = {
    "attention": lambda: SelfAttention(num_heads=2),
    "block": lambda: TransformerBlock(num_heads=2),
    "positions": lambda: PositionEmbedding("learned", max_sequence_length=9),
    "mean": lambda: Pooling("mean"),
    "max": lambda: Pooling("max"),
    "pooled by attention": lambda: Pooling("attention"),
    "CRF": lambda: CRF(8, jit_compile=False),
    "S-LSTM": lambda: SLSTM(units=8, num_steps=1),
    "S-LSTM cell": lambda: one_step,
    "mix": lambda: normalized_mix,
}


def one_step(x, mask):
    return SLSTMCell(units=8)(x, x, x, x[:, :1], x[:, :1], mask=mask)


def normalized_mix(x, mask):
    return ScalarMix(layer_norm=True)(x[:, None], mask=mask)


@pytest.mark.parametrize("shape", [[5], [2, 5, 5], [2, 4], [2, 1], [1, 5], [2, 1, 5]], ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_other_shapes(name, shape):
    layer = LAYERS[name]()
    with pytest.raises(ValueError, match="`mask` must have the shape .* of the tokens"):
        layer(X, mask=np.ones(shape, bool))


def test_bool_numbers_and_none():
    assert as_mask(None, X) is None
    given = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 2]])
    for kind in "bool", "int32", "float32":
        np.testing.assert_array_equal(as_mask(given.astype(kind), X), given != 0)


def test_lengths_that_are_not_known():
    run = tf.function(as_mask, input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec(None)])
    np.testing.assert_array_equal(run(np.ones([2, 5], "float32"), X), np.ones([2, 5], bool))


TAGS = np.zeros([2, 5], "int32")
OF_A_CRF = {
    "loss": lambda crf, **given: crf.loss(**{"emissions": X, "tags": TAGS, **given}),
    "log_likelihood": lambda crf, **given: crf.log_likelihood(
        **{"emissions": X, "tags": TAGS, **given}
    ),
    "path_score": lambda crf, **given: crf.path_score(**{"emissions": X, "tags": TAGS, **given}),
    "partial": lambda crf, **given: crf.partial_log_likelihood(
        **{"emissions": X, "allowed_tags": np.ones([2, 5, 8], bool), **given}
    ),
    "decode": lambda crf, **given: crf.decode(**{"emissions": X, **given}),
    "k best": lambda crf, **given: crf.decode(**{"emissions": X, "k": 2, **given}),
    "marginals": lambda crf, **given: crf.marginals(**{"emissions": X, **given}),
    "normalizer": lambda crf, **given: crf.log_normalizer(**{"emissions": X, **given}),
}
WRONG = [
    *(("mask", shape) for shape in ([5], [2, 1], [1, 5], [2, 5, 1], [2, 5, 8])),
    *(("emissions", shape) for shape in ([], [8], [5, 8], [2, 5, 7], [2, 5, 1], [1, 2, 5, 8])),
    *(("tags", shape) for shape in ([], [2], [2, 1], [1, 5], [2, 5, 1], [2, 4])),
    *(("allowed_tags", shape) for shape in ([2, 5], [2, 5, 1], [2, 1, 8], [8])),
    *(("sample_weight", shape) for shape in ([1], [3], [2, 1], [1, 5])),
]


@pytest.mark.parametrize("method", OF_A_CRF)
def test_what_a_crf_is_given(method):
    run = OF_A_CRF[method]
    names = {"mask", "emissions"} | {"loss": {"tags", "sample_weight"}}.get(method, set())
    names |= {"tags"} if method in ("log_likelihood", "path_score") else set()
    names |= {"allowed_tags"} if method == "partial" else set()
    for name, shape in WRONG:
        if name in names:
            with pytest.raises(ValueError, match=f"`{name}` must"):
                run(CRF(8, jit_compile=False), **{name: np.ones(shape, "int32")})


@pytest.mark.slow
@pytest.mark.parametrize("method", OF_A_CRF)
def test_what_a_crf_is_given_is_otherwise_correct(method):
    OF_A_CRF[method](CRF(8, jit_compile=False))


@pytest.mark.parametrize(
    "place, shape", [(2, [8]), (2, [8, 7]), (2, [1, 8]), (3, [1]), (3, [8, 8]), (4, [7]), (4, [])]
)
def test_scores_of_a_chain(place, shape):
    scores = [X, None, np.zeros([8, 8]), np.zeros(8), np.zeros(8)]
    chain.viterbi(*scores)
    scores[place] = np.zeros(shape)
    with pytest.raises(ValueError, match="` must have the shape .K"):
        chain.viterbi(*scores)


def test_shapes_that_are_not_known():
    def run(x):
        check_shape("x", x, [2, None], "[B, T]")

    tf.function(run).get_concrete_function(tf.TensorSpec(None))
    tf.function(run).get_concrete_function(tf.TensorSpec([None, None]))
    message = r"`x` must have the shape \[B, T\], here \(2, None\); got .* \(2,\)"
    with pytest.raises(ValueError, match=message):
        check_shape("x", tf.ones([2]), [2, None], "[B, T]")
