"""Requests of several threads that are merged into one batch."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from tests.server.small_models import at_the_same_time
from tfreps.server.models.batching import BatchOptions, batched
from tfreps.server.models.signature import Signature


@tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
def times(x):
    return {"y": x * 2, "together": tf.fill([tf.shape(x)[0]], tf.shape(x)[0])}


@tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
def minus(x):
    return {"y": -x, "together": x}


@pytest.fixture(scope="module")
def signature():
    definition = meta_graph_pb2.SignatureDef()
    for part, names in ((definition.inputs, ["x"]), (definition.outputs, ["y", "together"])):
        for name in names:
            part[name].dtype = tf.int32.as_datatype_enum
            part[name].tensor_shape.dim.add(size=-1)
    return Signature("serving_default", definition)


def test_merged_and_taken_apart_again(signature):
    options = BatchOptions(max_rows=8, timeout_ms=200)
    call = batched(times, signature, options)
    answers = {}

    def ask(number):
        x = np.arange(number % 3 + 1, dtype="int32") + 100 * number
        answers[number] = x, call(x=tf.constant(x))

    with at_the_same_time(ask, 12):
        pass
    for x, answer in answers.values():
        np.testing.assert_array_equal(answer["y"], 2 * x)
    largest = max(answer["together"].numpy().max() for _, answer in answers.values())
    assert 3 < largest <= 8


def test_two_signatures_have_two_queues(signature):
    options = BatchOptions(max_rows=4)
    first, second = batched(times, signature, options), batched(minus, signature, options)
    assert first(x=tf.constant([3]))["y"].numpy() == [6]
    assert second(x=tf.constant([3]))["y"].numpy() == [-3]


def test_a_full_queue_is_unavailable(signature):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def slow(x):
        tf.py_function(lambda: __import__("time").sleep(0.3), [], [])
        return {"y": x, "together": x}

    call = batched(slow, signature, BatchOptions(max_rows=1, max_queued=1))
    found = []

    def ask(number):
        try:
            found.append(call(x=tf.constant([number]))["y"].numpy()[0])
        except tf.errors.UnavailableError:
            found.append("full")

    with at_the_same_time(ask, 6):
        pass
    assert 0 < found.count("full") < 6 and len(found) == 6
