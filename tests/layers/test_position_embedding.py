"""Position vectors against their formulas; masks, and texts that are too long."""

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import transformer
from tests.closeness import assert_close
from tfreps._src.layers.position_embedding import sinusoids
from tfreps.layers import PositionEmbedding

KINDS = "sinusoidal", "sinusoidal_full_index"
X = np.random.default_rng(3).normal(size=[4, 5, 6]).astype("float32")
# Right padding, holes, left padding, no token.
MASK = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
POSITIONS = np.array([[0, 1, 2, 2, 2], [0, 0, 1, 2, 2], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]])


def make(positions="learned", **options):
    layer = PositionEmbedding(positions, **{"max_sequence_length": 5, **options})
    layer.build((None, None, X.shape[-1]))
    return layer


@pytest.mark.parametrize("normalize_rows", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", [1, 2, 7, 16])
def test_sines_and_cosines_equal_the_formulas(kind, dim, normalize_rows):
    rows = sinusoids(600, dim, kind, normalize_rows)
    assert rows.dtype == tf.float32
    expected = transformer.sinusoids(600, dim, kind, normalize_rows)
    assert_close(rows, expected)


def test_some_numbers_by_hand():
    """Checks width 4: frequencies 1 and 1/100 in the paper; 1, 1/100, 1e-4, 1e-6 in aespresso."""
    paper, aespresso = (sinusoids(2, 4, kind).numpy() for kind in KINDS)
    first, second = 1.0, 0.01
    expected = [np.sin(first), np.cos(first), np.sin(second), np.cos(second)]
    assert_close(paper, [[0, 1, 0, 1], expected])
    expected = [np.sin(1.0), np.cos(0.01), np.sin(1e-4), np.cos(1e-6)]
    assert_close(aespresso, [[0, 0, 0, 0], expected])


def test_normalized_rows_have_length_one_but_aespressos_first():
    for kind, first in zip(KINDS, (1.0, 0.0), strict=True):
        lengths = np.linalg.norm(sinusoids(50, 8, kind, True), axis=1)
        assert_close(lengths, [first, *[1.0] * 49])


@pytest.mark.parametrize("kind", [*KINDS, "learned"])
def test_a_mask_counts_real_tokens_and_none_counts_columns(kind):
    layer = make(kind, normalize_positions=True)
    rows = layer.table if kind == "learned" else sinusoids(5, 6, kind, True)
    rows = np.asarray(rows)
    assert_close(layer(X), X + rows[None, :5])
    assert_close(layer(X, mask=MASK), X + rows[POSITIONS])
    assert layer(X[:, :0], mask=MASK[:, :0]).shape == (4, 0, 6)


def test_the_table_has_a_dense_gradient_that_counts_every_use():
    layer = make()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.boolean_mask(layer(X, mask=MASK), MASK))
    gradient = tape.gradient(y, layer.table.value)
    assert isinstance(gradient, tf.Tensor)
    uses = [(POSITIONS[MASK] == position).sum() for position in range(5)]
    np.testing.assert_array_equal(gradient, np.repeat(np.array(uses)[:, None], 6, axis=1))


def test_initializers():
    normal = make(max_sequence_length=500)
    assert np.std(normal.table) == pytest.approx(0.0176, rel=0.05)
    table = np.asarray(make(embeddings_initializer="orthogonal_rows").table)
    assert_close(table @ table.T, np.eye(5))
    assert not make("sinusoidal").weights


def test_columns_of_padding_may_be_more_than_positions():
    layer, x = make(max_sequence_length=3), np.zeros([4, 5, 6], "float32")
    assert_close(layer(x, mask=MASK), np.asarray(layer.table)[POSITIONS])


def test_texts_longer_than_the_learned_positions():
    layer, mask = make(max_sequence_length=4), np.ones([4, 5], bool)
    with pytest.raises(ValueError, match=r"`max_sequence_length` \(4\) .* inputs of length 5"):
        layer(X)
    spec = tf.TensorSpec([None, None, 6])
    unknown = tf.function(lambda x: layer(x), input_signature=[spec])
    for run in (lambda x: layer(x, mask=mask), unknown):
        with pytest.raises(tf.errors.InvalidArgumentError, match="more tokens than `max_seq"):
            run(tf.constant(X))
    compiled = tf.function(lambda x: layer(x, mask=mask), jit_compile=True)
    y = compiled(tf.constant(X)).numpy()
    assert np.isnan(y[:, 4]).all() and np.isfinite(y[:, :4]).all()


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"positions": "rotary"},
            "`positions` must be one of learned, sinusoidal, .*; got 'rotary'",
        ),
        ({"embeddings_initializer": "swoosh"}, "swoosh"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
