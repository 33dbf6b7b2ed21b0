"""Tests that a shared function is traced once per graph and changes no result."""

import gc
import weakref

import tensorflow as tf

from tests.closeness import assert_close
from tfreps.layers import CharCNNEncoder, ElmoBiLSTM
from tfreps.layers.ops.shared_functions import shared_function
from tfreps.text import batch_to_ids


def test_one_trace_per_graph():
    traced = []

    def double(x, y):
        traced.append(x)
        return x * 2.0, y

    def four_times(x):
        double_it = shared_function(double)
        return double_it(double_it(x, None)[0], None)[0]

    assert four_times(tf.constant(3.0)).numpy() == 12.0  # not in a graph
    assert len(traced) == 2 and shared_function(double) is double
    for number in range(2):
        function = tf.function(four_times, autograph=False)
        assert function(tf.constant(3.0)).numpy() == 12.0
        assert function(tf.constant([3.0])).numpy() == [12.0]  # another graph
        assert len(traced) == 2 + 2 * (number + 1)


def test_functions_with_the_same_key_are_one():
    @tf.function(autograph=False)
    def twice(x):
        first = shared_function(lambda x: x + 1.0, ("add", 1.0))
        second = shared_function(lambda x: x + 1.0, ("add", 1.0))
        other = shared_function(lambda x: x + 2.0, ("add", 2.0))
        assert first is second and first is not other
        return other(second(first(x)))

    assert twice(tf.constant(1.0)).numpy() == 5.0


def test_a_graph_is_freed():
    def run(x):
        graphs.append(weakref.ref(tf.compat.v1.get_default_graph()))
        return shared_function(lambda x: x + 1.0, "add one")(x)

    graphs = []
    function = tf.function(run, autograph=False)
    function(tf.constant(1.0))
    del function
    gc.collect()
    assert [graph() for graph in graphs] == [None]


def test_layers_repeat_no_operations():
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
    products = nodes.count("MatMul")
    assert products == 2 + 3 + 3  # windows; highway and projection; LSTM
