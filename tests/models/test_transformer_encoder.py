"""Tests TransformerEncoder: embedder, positions, blocks and norms in order; training."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import transformer
from tests.closeness import assert_close
from tests.paper_weights import arrays, block_weights
from tfreps._src.layers.ops.configurable import inner_layers
from tfreps.models import TokenEmbedder, TransformerEncoder

IDS = np.array([[1, 2, 3, 4, 5, 6], [6, 5, 4, 0, 0, 0], [0] * 6], "int32")
MASK = IDS > 0


def make(embedding_dim=8, dtype=None, **options):
    embedder = TokenEmbedder(vocabulary_size=8, embedding_dim=embedding_dim)
    options = {"hidden_dim": 8, "num_heads": 2, **options}
    encoder = TransformerEncoder(embedder, dtype=dtype, **options)
    rng = np.random.default_rng(4)
    for weight in encoder.weights:
        if "float" in weight.dtype and "word_embeddings" not in weight.path:
            weight.assign(0.5 * rng.normal(size=weight.shape) + ("gamma" in weight.path))
    return encoder


def norm(layer, x):
    return transformer.layer_norm(x, *arrays(layer), layer.epsilon)


def oracle(encoder, ids):
    """Returns the `layer_outputs` and the attention of every block for one text, by loops."""
    mask = ids > 0
    x = np.asarray(encoder.embedder.word_embeddings, "float64")[ids]
    if encoder.project is not None:
        x = x @ np.asarray(encoder.project.kernel) + np.asarray(encoder.project.bias)
    x = norm(encoder.embedding_norm, x)
    if encoder.positions is not None:
        positions = np.maximum(np.cumsum(mask) - 1, 0)
        x += transformer.sinusoids(
            len(ids), x.shape[1], encoder.positions, encoder.normalize_positions
        )[positions]
    x = np.where(mask[:, None], x, 0.0)
    layers, attention = [x], []
    for block in encoder.blocks:
        x, probabilities = transformer.block(x, block_weights(block), block.get_config(), mask)
        layers.append(x)
        attention.append(probabilities)
    if encoder.final_norm is not None:
        layers[-1] = np.where(mask[:, None], norm(encoder.final_norm, x), 0.0)
    return np.array(layers), np.array(attention)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "normalize_first": False,
            "activation": "relu",
            "num_layers": 3,
            "layer_norm_epsilon": 1e-12,
        },
        {"positions": "sinusoidal_full_index", "normalize_positions": True, "embedding_dim": 3},
        {"positions": None, "causal": True, "activation": "gelu_tanh", "intermediate_dim": 5},
    ],
    ids=["default", "post", "aespresso", "causal"],
)
def test_equals_plain_loops(options):
    encoder = make(**options)
    out, attention = encoder({"token_ids": IDS}), encoder.attention({"token_ids": IDS})
    for row, ids in enumerate(IDS):
        layers, probabilities = oracle(encoder, ids)
        # The number of terms added in two or three blocks.
        assert_close(out["layer_outputs"][row], layers, terms=256)
        assert_close(attention[row], probabilities, terms=256)
    np.testing.assert_array_equal(out["sequence_output"], out["layer_outputs"][:, -1])
    np.testing.assert_array_equal(out["mask"], MASK)
    np.testing.assert_array_equal(out["sequence_output"].numpy()[~MASK], 0.0)
    assert (encoder.project is None) == ("embedding_dim" not in options)


@pytest.mark.few(1)
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", None])
def test_what_is_masked_is_as_good_as_not_there(positions):
    encoder = make(positions=positions)
    mask = np.array([[False, True, True, False, True, True]])
    holed = encoder({"token_ids": IDS[:1], "mask": mask})["sequence_output"]
    closed = encoder({"token_ids": IDS[:1][mask][None]})["sequence_output"]
    # The number of terms added in two blocks.
    assert_close(holed[mask], closed[0], terms=256)


def test_positions_tell_the_order_and_without_them_nothing_does():
    turned = np.ascontiguousarray(IDS[:1, ::-1])
    for positions in ("sinusoidal", "learned", None):
        encoder = make(positions=positions)
        one, other = (encoder({"token_ids": ids})["sequence_output"] for ids in (IDS[:1], turned))
        same = np.allclose(one[:, ::-1], other, atol=1e-4)
        assert same == (positions is None)


def test_texts_longer_than_the_learned_positions():
    encoder = make(positions="learned", max_sequence_length=5)
    assert encoder({"token_ids": IDS[1:]})["sequence_output"].shape == (2, 6, 8)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"than `max_sequence_length` \(5\)"):
        encoder({"token_ids": IDS})


def test_texts_without_tokens_leave_the_weights_alone():
    encoder = make()
    with tf.GradientTape() as tape:
        out = encoder({"token_ids": np.zeros([2, 3], "int32")}, training=True)
        y = tf.reduce_sum(tf.square(out["sequence_output"]))
    weights = [weight.value for weight in encoder.trainable_weights]
    for gradient in tape.gradient(y, weights, unconnected_gradients="zero"):
        np.testing.assert_array_equal(tf.convert_to_tensor(gradient), 0.0)


def test_dropout_is_in_training_alone():
    encoder = make(dropout=0.5, attention_dropout=0.5)
    features = {"token_ids": IDS[:1]}
    exact = encoder(features)["layer_outputs"]
    np.testing.assert_array_equal(exact, encoder(features)["layer_outputs"])
    dropped = encoder(features, training=True)["layer_outputs"]
    ratio = (dropped[:, 0] / exact[:, 0]).numpy()
    assert_close(ratio[ratio != 0], 2.0)
    assert 0.2 < (ratio == 0).mean() < 0.8
    assert np.abs(dropped[:, -1] - exact[:, -1]).max() > 0.1


def test_quantizes_to_int8_and_takes_lora():
    encoder = make(dropout=0.0, embedding_dim=3)
    features = {"token_ids": IDS}
    before = encoder(features)["sequence_output"].numpy()
    for block in encoder.blocks:
        block.attention.query_key_value.enable_lora(2)
    assert_close(encoder(features)["sequence_output"], before)
    for _, part in inner_layers(encoder):
        if isinstance(part, keras.layers.Dense | keras.layers.EinsumDense):
            part.quantize("int8")  # `encoder.quantize` warns about the others
    after = encoder(features)["sequence_output"].numpy()
    assert encoder.blocks[0].expand.kernel.dtype == "int8"
    assert 0.0 < np.abs(after - before).mean() < 0.1


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_heads": 3}, "`num_heads` must divide `hidden_dim`; got 3 heads for 8 dim"),
        ({"positions": "rotary"}, "`positions` must be one of learned, .*, or None; got 'rotary'"),
        (
            {"max_sequence_length": 0, "positions": "learned"},
            "`max_sequence_length` must be at least 1",
        ),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
