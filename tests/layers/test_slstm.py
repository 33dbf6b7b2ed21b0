"""SLSTM against plain loops in every variant; dependencies between words by step."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import BFLOAT16, assert_close
from tests.layers import slstm_oracle
from tfreps.layers import SLSTM

UNITS, LENGTH = 4, 6
DEFAULT = {"units": UNITS, "num_steps": 3}
RELEASED = {
    "input_term": "embedding",
    "initial_state": "embedding",
    "boundary": "zeros",
    "neighbors": "summed",
}
FORMS = {
    "paper": {},
    "released": RELEASED,
    "released, window 2": {**RELEASED, "window": 2},
    "seed's PyTorch": {
        "sentence_normalization": "words",
        "initial_state": "zeros",
        "boundary": "zeros",
        "window": 2,
        "neighbors": "nearest_cells",
    },
    "fixed ends": {"boundary": "fixed", "initial_state": "learned_separately"},
    "softmax of words": {"sentence_normalization": "words"},
    "window 3": {"window": 3},
    "no node": {"num_sentence_nodes": 0},
    "no node, separate": {"num_sentence_nodes": 0, "initial_state": "learned_separately"},
    "two nodes": {"num_sentence_nodes": 2, "initial_state": "learned_separately", "window": 2},
    "embedding, fixed": {"initial_state": "embedding", "boundary": "fixed"},
    "zeros, fixed": {"initial_state": "zeros", "boundary": "fixed"},
    "zeros, learned": {"initial_state": "zeros", "num_steps": 1},
    "embedding term, learned state": {"input_term": "embedding", "boundary": "fixed"},
}
every = pytest.mark.parametrize("form", FORMS)
MASKS = np.array(
    [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
        [0, 0, 1, 1, 1, 1],
        [1, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
    ],
    bool,
)


def make(seed=0, scale=0.7, **options):
    """Returns a layer with random nonzero weights."""
    layer = SLSTM(**{**DEFAULT, **options})
    layer.build([None, None, UNITS])
    rng = np.random.default_rng(seed)
    for weight in layer.trainable_weights:
        weight.assign(scale * rng.normal(size=weight.shape))
    return layer


def batch(seed=1):
    return np.random.default_rng(seed).normal(size=[len(MASKS), LENGTH, UNITS]).astype("float32")


@pytest.mark.few(3)
@every
def test_is_the_plain_loop(form):
    layer, x = make(**FORMS[form]), batch()
    x[~MASKS] = np.nan  # masked tokens have no effect
    words, sentence = layer(x, mask=MASKS)
    options = layer.get_config()
    for row, mask in enumerate(MASKS):
        np.testing.assert_array_equal(words[row][~mask], 0.0)
        if not mask.any():
            np.testing.assert_array_equal(sentence[row], 0.0)
            continue
        inputs = x[row][mask].astype("float64")
        h, g = slstm_oracle.states(inputs, slstm_oracle.arrays(layer), options)
        assert_close(words[row][mask], h)
        assert_close(sentence[row], g)


@pytest.mark.few(1)
@every
def test_no_mask_is_a_mask_of_ones(form):
    layer, x = make(**FORMS[form]), batch()
    pairs = zip(layer(x), layer(x, mask=np.ones(x.shape[:2], bool)), strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["two nodes", "paper", "released", "softmax of words"])
def test_a_sentence_is_the_same_alone_and_in_any_batch(form):
    layer, x = make(**FORMS[form]), batch()
    words, sentence = layer(x, mask=MASKS)
    for row in (0, 1, 5):
        real = MASKS[row]
        alone = layer(x[row : row + 1][:, real])
        assert_close(alone[0][0], words[row][real])
        assert_close(alone[1][0], sentence[row])
        wide = np.pad(x[row : row + 1], [(0, 0), (3, 4), (0, 0)], constant_values=9.0)
        mask = np.pad(MASKS[row : row + 1], [(0, 0), (3, 4)])
        assert_close(layer(wide, mask=mask)[1][0], sentence[row])


def test_answers_the_same_every_time():
    layer, x = make(state_dropout=0.5, initial_state="embedding"), batch()
    for one, other in zip(layer(x, mask=MASKS), layer(x, mask=MASKS), strict=True):
        np.testing.assert_array_equal(one, other)


def test_dropout_draws_hidden_and_cell_states_apart():
    options = {**RELEASED, "num_steps": 1, "state_dropout": 0.5}
    layer, x = make(**options, seed=3), batch()
    one, other = layer(x, training=True)[0], layer(x, training=True)[0]
    assert not np.allclose(one, other)
    # Without kernels all gates are equal, and the result is the mean of five cell states.
    for weight in layer.trainable_weights:
        weight.assign(tf.zeros_like(weight))
    words = layer(x, training=True)[0].numpy()
    means = np.arctanh(words / 0.5)
    assert len(np.unique(np.round(np.abs(means[0, 0]), 5))) > 1


@pytest.mark.parametrize("start", ["zeros", "learned"])
def test_one_step_from_a_constant_state_is_a_network_per_word(start):
    layer, x = make(num_steps=1, initial_state=start, boundary="zeros"), batch()
    if start == "learned":  # zero neighbors beyond the ends: equal only inside
        inside = slice(1, -1)
    else:
        inside = slice(None)
    order = np.array([2, 0, 5, 1, 4, 3])
    words, shuffled = layer(x)[0].numpy(), layer(x[:, order])[0].numpy()
    back = np.argsort(order)
    expected = shuffled[:, back]
    both = np.isin(np.arange(LENGTH), np.arange(LENGTH)[inside])
    both &= np.isin(back, np.arange(LENGTH)[inside])
    assert_close(words[:, both], expected[:, both])
    assert both.sum() >= 2


def reached(layer, length=9):
    """Returns whether word j affects word i, `[n, n]`, and the sentence nodes, `[n]`."""
    x = tf.constant(np.random.default_rng(2).normal(size=[1, length, UNITS]), "float32")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        words, sentence = layer(x)
        each = [tf.reduce_sum(words[0, i]) for i in range(length)]
        total = tf.reduce_sum(sentence)
    rows = [np.abs(tape.gradient(word, x)[0]).max(-1) > 0 for word in each]
    node = tape.gradient(total, x, unconnected_gradients="zero")
    return np.array(rows), np.abs(node[0]).max(-1) > 0


@pytest.mark.few(2)
@pytest.mark.parametrize("steps", [3, 1, 2])
@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("start", ["zeros", "learned", "embedding"])
def test_without_sentence_nodes_a_word_reads_a_window_per_step(steps, window, start):
    options = {"num_sentence_nodes": 0, "num_steps": steps, "window": window}
    rows, _ = reached(make(initial_state=start, boundary="zeros", **options))
    reach = window * (steps if start == "embedding" else steps - 1)
    distance = np.abs(np.arange(9)[:, None] - np.arange(9))
    np.testing.assert_array_equal(rows, distance <= reach)


@pytest.mark.slow
@pytest.mark.parametrize(
    "start, at_once",
    [("learned", 3), pytest.param("zeros", 3, marks=pytest.mark.slow), ("embedding", 1)],
)
def test_the_sentence_node_tells_every_word_of_every_other(start, at_once):
    """Nodes depend on all words from step 2, and words on all others from step 3.

    With embeddings as initial states, a node starts as their mean, which words read at step 1.
    """
    for steps in (1, 2, 3):
        rows, node = reached(make(initial_state=start, num_steps=steps, scale=0.4))
        assert rows.all() == (steps >= at_once), steps
        assert node.all() == (steps >= 2 or start == "embedding"), steps


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, 3_693_000 + 4 * 300),  # with <s> and </s>, and the initial state
        ({"boundary": "zeros", "initial_state": "zeros"}, 3_693_000),
        (RELEASED, 3_242_700),
        ({**RELEASED, "units": 600}, 12_965_400),
    ],
)
def test_parameters_are_as_many_as_published(options, expected):
    layer = SLSTM(**{"units": 300, **options})
    layer.build([None, None, layer.units])
    assert layer.count_params() == expected


def test_low_precision_is_close():
    exact, x = make(scale=0.3), batch()
    rough = SLSTM(**DEFAULT, dtype="mixed_bfloat16")
    rough.build([None, None, UNITS])
    rough.set_weights(exact.get_weights())
    for one, other in zip(exact(x, mask=MASKS), rough(x, mask=MASKS), strict=True):
        assert other.dtype == tf.float32
        assert_close(one, other, unit=BFLOAT16, terms=1)


def test_an_empty_batch_and_a_batch_of_no_tokens():
    layer = make()
    assert layer(tf.zeros([0, 5, UNITS]))[0].shape == (0, 5, UNITS)
    words, sentence = layer(tf.zeros([2, 0, UNITS]))
    assert words.shape == (2, 0, UNITS)
    np.testing.assert_array_equal(sentence, tf.zeros([2, 1, UNITS]))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"window": None}, "`window` must be an integer; got None"),
        ({"num_steps": "3"}, "`num_steps` must be an integer; got '3'"),
        ({"initial_state": "noise"}, "`initial_state` must be one of .*zeros.* got 'noise'"),
        ({"boundary": None}, "`boundary` must be one of"),
        ({"neighbors": "all"}, "`neighbors` must be one of"),
    ],
)
def test_says_what_is_wrong_with_an_option(options, message):
    with pytest.raises(ValueError, match=message):
        SLSTM(**{**DEFAULT, **options})


@pytest.mark.parametrize("option", ["input_term", "initial_state"])
def test_says_that_embeddings_must_be_as_wide_as_states(option):
    layer = SLSTM(**DEFAULT, **{option: "embedding"})
    with pytest.raises(ValueError, match=r"as wide as the states \(4\); got inputs of width 3"):
        layer(tf.zeros([2, 5, 3]))


def test_says_that_inputs_have_another_rank():
    with pytest.raises(ValueError, match="expected ndim=3, found ndim=2"):
        SLSTM(**DEFAULT)(tf.zeros([2, 3]))
