"""ElmoLSTM and ElmoBiLSTM against plain loops per sentence, token and gate."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import elmo
from tests import oracles
from tests.closeness import assert_close
from tfreps.layers import CharCNNEncoder, ElmoBiLSTM, ElmoLSTM, LSTMState
from tfreps.models import BiLM
from tfreps.text import batch_to_ids

LENGTHS = 6, 3, 1, 0
MASK = np.arange(6) < np.array(LENGTHS)[:, None]
CASES = {
    "1 layer": {"n_layers": 1},
    "2 layers": {"n_layers": 2},
    "3 layers": {"n_layers": 3},
    "no skip connections": {"n_layers": 3, "use_skip_connections": False},
    "no projection": {"projection_dim": 6},
    "no clips": {"cell_clip": None, "proj_clip": None},
}


def make(tmp_path, lstm):
    options = oracles.options_with(lstm=lstm)
    weights = oracles.random_weights(options, seed=4)
    layer = BiLM.from_pretrained(*oracles.write_files(tmp_path, options, weights)).bilstm
    dim = options["lstm"]["projection_dim"]
    x = np.random.default_rng(5).normal(size=(4, 6, dim)).astype("float32")
    return options, weights, layer, x


def random_states(options):
    """Returns the states of four sentences in the layer's format and sentence by sentence."""
    rng, lstm = np.random.default_rng(6), options["lstm"]
    shape = 4, lstm["n_layers"]
    ours = [
        LSTMState(
            0.3 * rng.normal(size=(*shape, lstm["projection_dim"])).astype("float32"),
            0.3 * rng.normal(size=(*shape, lstm["dim"])).astype("float32"),
        )
        for _ in range(2)
    ]
    theirs = [
        [list(zip(*(part[row].astype(float) for part in state), strict=True)) for state in ours]
        for row in range(4)
    ]
    return tuple(ours), theirs


@pytest.mark.few(3)
@pytest.mark.parametrize("state_in", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_equals_the_loops(tmp_path, monkeypatch, case, state_in):
    options, weights, layer, x = make(tmp_path, CASES[case])
    state, rows = random_states(options) if state_in else (None, None)
    outputs, last = layer(x, mask=MASK, initial_state=state)
    clipped, dim = oracles.count_clips(monkeypatch), options["lstm"]["projection_dim"]
    for b, n in enumerate(LENGTHS):
        start = rows[b] if state_in else (None, None)
        vectors = list(x[b, :n].astype(float))
        ahead, end = elmo.read_direction(weights, options, 0, vectors, start[0])
        back, begin = elmo.read_direction(weights, options, 1, vectors[::-1], start[1])
        for number in range(options["lstm"]["n_layers"]):
            expected = np.zeros([6, 2 * dim])
            for t in range(n):
                expected[t] = np.concatenate([ahead[number][t], back[number][n - 1 - t]])
            # The terms of up to three layers with six steps each.
            assert_close(outputs[b, number], expected, terms=256)
        for ours, theirs in zip(last, (end, begin), strict=True):
            hidden, cell = zip(*theirs, strict=True)
            assert_close(ours.hidden[b], hidden, terms=256)
            assert_close(ours.cell[b], cell, terms=256)
    clips = options["lstm"]["cell_clip"] is not None
    assert (clipped[0.4] > 20) == clips
    assert (clipped[0.3] > 20) == (clips and dim < options["lstm"]["dim"])


def test_one_direction_is_the_forward_half(tmp_path):
    options, _, layer, x = make(tmp_path, {})
    sizes = {name: layer.get_config()[name] for name in ("units", "projection_dim", "num_layers")}
    clips = {"cell_clip": 0.4, "projection_clip": 0.3}
    single, stack = ElmoBiLSTM(**sizes, **clips, bidirectional=False), ElmoLSTM(**sizes, **clips)
    for other in (single, stack):
        other.build(x.shape)
        other.set_weights(layer.directions[0].get_weights())
    both, states = layer(x, mask=MASK)
    outputs, (state,) = single(x, mask=MASK)
    np.testing.assert_array_equal(outputs, both[..., :4])
    np.testing.assert_array_equal(state.cell, states[0].cell)
    np.testing.assert_array_equal(stack(x, mask=MASK)[0], outputs)


def test_no_mask_is_a_mask_of_ones(tmp_path):
    _, _, layer, x = make(tmp_path, {})
    without, with_mask = layer(x), layer(x, mask=np.ones([4, 6], bool))
    for a, b in zip(tf.nest.flatten(without), tf.nest.flatten(with_mask), strict=True):
        assert_close(a, b)


def test_what_padding_holds_does_not_matter(tmp_path):
    _, _, layer, x = make(tmp_path, {})
    other = np.where(MASK[..., None], x, np.float32(1e3))
    results = layer(x, mask=MASK), layer(other, mask=MASK)
    for a, b in zip(*map(tf.nest.flatten, results), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_distinct_vectors_give_the_same_in_both_directions(tmp_path, case):
    _, _, layer, x = make(tmp_path, CASES[case])
    vectors = x[0, :3]
    which = np.random.default_rng(7).integers(3, size=MASK.shape).astype("int32")
    wanted = layer(vectors[which], mask=MASK)
    got = layer(0.0 * vectors[which], mask=MASK, distinct=(vectors, which))
    for a, b in zip(tf.nest.flatten(wanted), tf.nest.flatten(got), strict=True):
        # The terms of three layers.
        assert_close(a, b, terms=256)


def test_dropout_ignores_distinct_vectors():
    vectors = np.random.default_rng(8).normal(size=[2, 4]).astype("float32")
    which = np.array([[0, 1, 0, 1]], "int32")
    results = []
    for distinct in (None, (vectors, which)):
        keras.utils.set_random_seed(1)  # the same weights and the same dropout
        layer = ElmoBiLSTM(units=6, projection_dim=4, dropout=0.5)
        results.append(layer(vectors[which], training=True, distinct=distinct)[0])
    np.testing.assert_array_equal(*results)
    assert len(np.unique(results[0])) > 8  # not all of the output is clipped or dropped


def test_carrying_the_state_is_reading_on():
    """In the forward direction, two consecutive halves give the result of the whole."""
    layer = ElmoLSTM(units=6, projection_dim=4, num_layers=3)
    x = np.random.default_rng(0).normal(size=(2, 8, 4)).astype("float32")
    whole, last = layer(x)
    first, state = layer(x[:, :5])
    second, end = layer(x[:, 5:], initial_state=state)
    assert_close(tf.concat([first, second], 2), whole)
    assert_close(end.cell, last.cell)


def test_dropout_falls_on_the_input_of_every_layer_before_the_skip_connection():
    """With constant hidden states, only the dropped-out input varies."""
    layer = ElmoLSTM(units=5, projection_dim=4, num_layers=3, dropout=0.5, seed=1)
    layer.build((None, None, 4))
    layer.projections[0].assign(10.0 * tf.ones([5, 4]))  # layer 0 returns 3, the clip
    layer.biases[0].assign(10.0 * tf.ones([20]))
    for number in (1, 2):
        layer.projections[number].assign(tf.zeros([5, 4]))
    outputs, _ = layer(tf.ones([50, 10, 4]), training=True)
    first, second, third = tf.unstack(outputs, axis=1)
    np.testing.assert_array_equal(first, 3.0)
    assert set(np.unique(second)) == {0.0, 6.0}  # scaled up to preserve the mean
    assert set(np.unique(third)) == {0.0, 12.0}
    assert np.mean(second == 0.0) == pytest.approx(0.5, abs=0.05)
    assert np.mean(third == 0.0) == pytest.approx(0.75, abs=0.05)
    assert len(np.unique(second[0], axis=0)) > 1  # drawn anew at every step
    np.testing.assert_array_equal(layer(tf.ones([1, 2, 4]))[0][:, 1:], 3.0)


def test_starts_as_tf1_did():
    layer = ElmoLSTM(units=60, projection_dim=40)
    layer.build((None, None, 40))
    bound = (6.0 / (80 + 240)) ** 0.5
    assert 0.98 * bound < np.abs(layer.kernels[0]).max() <= bound
    bound = (6.0 / (60 + 40)) ** 0.5
    assert 0.98 * bound < np.abs(layer.projections[1]).max() <= bound
    assert (np.asarray(layer.biases[0]) == 0.0).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"projection_dim": 9}, r"must not be larger than `units` \(8\); got 9"),
    ],
)
@pytest.mark.parametrize("layer", [ElmoLSTM, ElmoBiLSTM])
def test_sizes_that_do_not_fit(layer, options, message):
    with pytest.raises(ValueError, match=message):
        layer(**{"units": 8, "projection_dim": 4, **options})


@pytest.mark.parametrize("layer", [ElmoLSTM, ElmoBiLSTM])
def test_inputs_of_another_width(layer):
    with pytest.raises(ValueError, match="axis -1 of input shape to have value 4"):
        layer(units=8, projection_dim=4)(tf.ones([3, 5, 6]))


def test_a_graph_repeats_no_operations():
    """The graph contains the convolution of one group of tokens, and one LSTM layer."""
    encoder = CharCNNEncoder(filters=[[1, 4], [2, 8]], projection_dim=6)
    bilstm = ElmoBiLSTM(units=8, projection_dim=6)
    ids = batch_to_ids([["the", "function", "returns"], ["a"]])

    @tf.function(autograph=False)
    def run(ids):
        return bilstm(encoder(ids), mask=ids[..., 0] != 0)[0]

    expected = bilstm(encoder(ids), mask=ids[..., 0] != 0)[0]
    assert_close(run(ids), expected)
    graph = run.get_concrete_function(ids).graph.as_graph_def()
    nodes = [node.op for f in graph.library.function for node in f.node_def]
    nodes += [node.op for node in graph.node]
    assert nodes.count("StatelessWhile") + nodes.count("While") == 1
    assert nodes.count("PartitionedCall") + nodes.count("StatefulPartitionedCall") == 6 + 4
    multiplications = nodes.count("MatMul")
    assert multiplications == 2 + 3 + 3  # windows; highway and projection; LSTM
