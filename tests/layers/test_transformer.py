"""TransformerBlock against plain loops in every variant; masks, XLA, LoRA and int8."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import transformer
from tests.closeness import assert_close
from tests.paper_weights import block_weights
from tfreps._src.layers.ops.configurable import inner_layers
from tfreps.layers import TransformerBlock

X = np.random.default_rng(3).normal(size=[4, 5, 6]).astype("float32")
# Right padding, holes, left padding, no token.
MASK = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
FORMS = [
    {
        "normalize_first": normalize_first,
        "activation": activation,
        "causal": causal,
        "layer_norm_epsilon": eps,
    }
    for normalize_first, activation, causal, eps in [
        (False, "gelu", False, 1e-12),
        (False, "gelu_tanh", False, 1e-12),
        (False, "relu", True, 1e-3),
        (True, "gelu", True, 1e-3),
        (True, "gelu_tanh", False, 1e-12),
        (True, "relu", False, 1e-12),
    ]
]


def name_of(form):
    return "-".join(map(str, form.values()))


every = pytest.mark.parametrize("form", FORMS, ids=name_of)


def make(dtype=None, **options):
    layer = TransformerBlock(**{"num_heads": 2, "intermediate_dim": 7, **options}, dtype=dtype)
    layer.build((None, None, X.shape[-1]))
    rng = np.random.default_rng(4)
    for weight in layer.weights:
        if "float" in weight.dtype:
            weight.assign(rng.normal(size=weight.shape))
    return layer


@every
def test_equals_plain_loops_whatever_stands_on_padding(form):
    layer = make(**form)
    weights, options = block_weights(layer), layer.get_config()
    x = np.where(MASK[..., None], X, np.nan)
    y, probabilities = layer(x, mask=MASK, return_attention=True)
    np.testing.assert_array_equal(layer(x, mask=MASK), y)
    for row in range(4):
        expected = transformer.block(X[row].astype("float64"), weights, options, MASK[row])
        # The terms of six sums, between layer norms that enlarge rounding.
        assert_close(y[row], expected[0], terms=256)
        assert_close(probabilities[row], expected[1], terms=256)


def test_the_two_gelus_are_two():
    """They differ most at -2.70, by more than the tolerance of the checkpoint tests."""
    one, other = (make(activation=name) for name in ("gelu", "gelu_tanh"))
    assert 1e-5 < np.abs(one(X) - other(X)).max() < 1e-2


@pytest.mark.few(3)
@every
def test_a_text_is_the_same_alone_and_in_any_batch(form):
    layer = make(**form)
    together = layer(X, mask=MASK).numpy()
    for row in range(3):
        alone = layer(X[row][MASK[row]][None])[0]
        assert_close(together[row][MASK[row]], alone, terms=256)


@pytest.mark.few(3)
@every
def test_gradients_are_finite_and_zero_on_padding(form):
    """This includes a batch in which no text has a token."""
    layer = make(**form, dropout=0.1, attention_dropout=0.1)
    for mask in (MASK, np.zeros_like(MASK)):
        x = tf.constant(np.where(mask[..., None], X, np.nan))
        weights = [weight.value for weight in layer.trainable_weights]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(layer(x, mask=mask, training=True)))
        gradient, *others = tape.gradient(y, [x, *weights])
        np.testing.assert_array_equal(gradient.numpy()[~mask], 0.0)
        for array in (gradient, *others):
            assert np.isfinite(array).all() and array.numpy().any() == mask.any()


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [pytest.param(form, marks=pytest.mark.slow if n % 3 else ()) for n, form in enumerate(FORMS)],
    ids=name_of,
)
def test_xla_gives_the_same_numbers_and_gradients(form):
    layer = make(**form)
    for weight in layer.trainable_weights:  # large attention scores magnify rounding
        weight.assign(0.5 * weight)

    def numbers(x):
        with tf.GradientTape() as tape:
            y = layer(x, mask=MASK)
            loss = tf.reduce_sum(tf.sin(y))
        return y, tape.gradient(loss, [weight.value for weight in layer.trainable_weights])

    plain = tf.nest.flatten(numbers(tf.constant(X)))
    compiled = tf.nest.flatten(tf.function(numbers, jit_compile=True)(tf.constant(X)))
    # Six matrix multiplications and two norms of 6 or 7 terms, forward and back, over 24 tokens.
    for one, other in zip(plain, compiled, strict=True):
        assert_close(other, one, terms=256, magnitude=max(1.0, np.abs(one).max()))


def test_a_causal_block_does_not_look_ahead():
    layer, changed = make(causal=True), X.copy()
    changed[:, 3:] *= -1.0
    one, other = layer(X).numpy(), layer(changed).numpy()
    assert_close(one[:, :3], other[:, :3])
    assert (np.abs(one[:, 3:] - other[:, 3:]).max(axis=-1) > 1e-2).all()


def test_dropout_is_of_what_both_parts_add_in_training_alone():
    """With zero kernels, each part adds its bias, 1, which becomes 0 or 2 by dropout."""
    layer = make(normalize_first=True, dropout=0.5)
    for dense in (layer.attention.combine, layer.contract):
        dense.set_weights([np.zeros(dense.kernel.shape), np.ones(6)])
    assert_close(layer(X) - X, 2.0)
    added = (layer(X, training=True) - X).numpy()
    shares = [np.isclose(added, value, atol=1e-5).mean() for value in (0.0, 2.0, 4.0)]
    assert_close(sum(shares), 1.0)
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.15)


def test_sums_are_in_float32_under_every_policy():
    """The residual connections are exact: with zero kernels the inputs are unchanged."""
    for policy in ("mixed_bfloat16", "mixed_float16"):
        layer = make(normalize_first=True, dtype=policy)
        for dense in (layer.attention.combine, layer.contract):
            dense.set_weights([np.zeros(dense.kernel.shape), np.zeros(6)])
        y = layer(X)
        assert y.dtype == tf.float32
        np.testing.assert_array_equal(y, X)


def test_the_sizes_of_bert():
    """A normal truncated at two standard deviations has a standard deviation of 0.88."""
    layer = TransformerBlock(12, kernel_initializer=None)
    layer.build((None, None, 768))
    assert layer.count_params() == 7_087_872 and layer.expand.units == 3072
    for dense in (layer.attention.query_key_value, layer.contract):
        assert np.std(dense.kernel) == pytest.approx(0.88 * 0.02, rel=0.02)


def quantize_dense(model):
    """Quantizes single layers, because Keras 3.12 has no `quantize(filters=...)`."""
    for _, part in inner_layers(model):
        if isinstance(part, keras.layers.Dense | keras.layers.EinsumDense):
            part.quantize("int8")


def test_keras_adds_lora_and_quantizes():
    inputs = keras.Input([None, 6])
    layer = make()
    before, model = layer(X).numpy(), keras.Model(inputs, layer(inputs))
    layer.attention.query_key_value.enable_lora(2)
    assert_close(layer(X), before)  # B is zero initially
    assert len(layer.attention.query_key_value.trainable_weights) == 3  # A, B, bias
    quantize_dense(model)
    assert layer.expand.kernel.dtype == "int8"
    assert 0.0 < np.abs(model(X) - before).max() < 0.5


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_heads": 4}, "the width of the inputs; got 4 heads for inputs of width 6"),
        ({"activation": "swoosh"}, "swoosh"),
        ({"layer_norm_epsilon": 0.0}, "`layer_norm_epsilon` must be above 0; got 0.0"),
        ({"kernel_initializer": "swoosh"}, "swoosh"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
