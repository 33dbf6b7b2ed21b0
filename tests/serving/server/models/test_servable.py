"""Tests a loaded version: its responses, its errors, and merged requests."""

import gc
import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tests.serving.server.small_models import (
    ask,
    at_the_same_time,
    save,
    save_half,
    spec,
    write_warm_up,
)
from tests.serving.server.test_model_server import wait_for
from tfreps.serving import BatchOptions, ServerOptions
from tfreps.serving.server.models import graph_operations
from tfreps.serving.server.models.servable import Servable
from tfreps.serving.server.requests.serving_error import ServingError


@pytest.fixture(scope="module")
def zoo(models):
    batching = BatchOptions(max_batch_size=8, batch_timeout_ms=50)
    return Servable(models / "zoo" / "7", ServerOptions(batching=batching))


def texts(*strings):
    return {"text": np.array([s.encode() for s in strings], object)}


def test_answers(zoo):
    answer = ask(zoo, "", texts("a", "bcd"))
    assert answer["length"].tolist() == [1, 3] and answer["upper"].tolist() == [b"A", b"BCD"]
    assert list(ask(zoo, "serving_default", texts("a"), ["upper"])) == ["upper"]
    assert ask(zoo, "scalar", {"x": np.array(4)})["y"].shape == ()
    assert ask(zoo, "echo", {"x": np.array([], object)})["x"].tolist() == []
    many = texts(*["x"] * 20)  # more than a batch
    assert ask(zoo, "", many)["length"].tolist() == [1] * 20


def test_what_is_known_of_it(zoo):
    assert {"serving_default", "two", "__saved_model_init_op"} <= set(zoo.definitions)
    assert "__saved_model_init_op" not in zoo.signatures
    assert zoo.signatures["serving_default"].batches and not zoo.signatures["two"].batches


def test_no_such_signature(zoo):
    with pytest.raises(ServingError, match='key "none" not found') as caught:
        ask(zoo, "none", {})
    assert caught.value.code == "FAILED_PRECONDITION"


def test_no_thread_is_left_behind_when_a_version_is_unloaded(models):
    servable = Servable(models / "half_plus_two" / "123")
    before = set(threading.enumerate())
    ask(servable, "", {"x": np.array([1], "float32")})
    (own,) = [t for t in threading.enumerate() if t not in before and "batched" in t.name]
    del servable

    def is_gone():
        gc.collect()  # as `ServedModel` does
        return not own.is_alive()

    wait_for(is_gone)


def test_missing_and_broken_folders(tmp_path, models):
    with pytest.raises(ValueError, match="has no saved_model.pb"):
        Servable(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    with pytest.raises(ValueError, match="no graph with the tag 'serve'"):
        Servable(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"no protobuf")
    with pytest.raises(ValueError, match="cannot be loaded as a SavedModel"):
        Servable(tmp_path)


def test_a_long_reason_keeps_its_remedy(tmp_path):
    model = saved_model_pb2.SavedModel()
    graph = model.meta_graphs.add()
    graph.meta_info_def.tags.append("serve")
    for op in sorted(graph_operations.NAMES):
        graph.graph_def.node.add(name=op, op=op)
    (tmp_path / "saved_model.pb").write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match=r"contains operations .* \.\.\. .*`allow_file_ops`.$"):
        Servable(tmp_path)


def test_a_saved_model_that_holds_no_signatures(tmp_path):
    """A corrupt SavedModel whose root has another name for the signatures."""
    folder = save_half(tmp_path / "1")
    file = folder / "saved_model.pb"
    file.write_bytes(file.read_bytes().replace(b"\x12\nsignatures", b"\x12\nsignatured"))
    with pytest.raises(ValueError, match="cannot be loaded as a SavedModel.*'signatures'"):
        Servable(folder)


def test_warm_up_that_fails(tmp_path):
    folder = save_half(tmp_path / "1")
    write_warm_up(folder, "a text, but it wants a number")
    with pytest.raises(ValueError, match="warm-up request 1 must succeed"):
        Servable(folder)


def test_a_saved_model_of_tensorflow_1(tmp_path):
    tf1 = tf.compat.v1
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None], "x")
        weight = tf1.Variable(0.5)
        session.run(weight.initializer)
        builder = tf1.saved_model.Builder(str(tmp_path / "1"))
        info = tf1.saved_model.build_tensor_info
        signature = tf1.saved_model.build_signature_def(
            {"x": info(x)}, {"y": info(x * weight + 2)}, "tensorflow/serving/predict"
        )
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()
    answer = ask(Servable(tmp_path / "1"), "", {"x": np.array([1, 2, 5], "float32")})
    assert answer["y"].tolist() == [2.5, 3.0, 4.5]


def test_too_much_text(models):
    """Texts count as if padded to the length of the longest."""
    servable = Servable(models / "zoo" / "7", ServerOptions(max_text_mb=1))
    for inputs in (texts("x" * 1_048_577), texts("x" * 600_000, "y"), texts(*["abc"] * 16_385)):
        with pytest.raises(ServingError, match="at most 1048576 bytes") as caught:
            ask(servable, "", inputs)
        assert (caught.value.code, caught.value.http_status) == ("RESOURCE_EXHAUSTED", 413)
    assert ask(servable, "", texts("x" * 2**20))["length"].tolist() == [2**20]


def test_an_answer_of_a_batch_that_is_too_large_fails_alone(tmp_path):
    """The limit applies to the response to each request, not to that of its batch."""

    def repeat(x):
        return {"y": tf.strings.substr(tf.strings.join([x] * 500), 0, 10**9)}

    save(tmp_path / "1", serving_default=(repeat, {"x": spec("string", None)}))
    options = ServerOptions(batching=BatchOptions(batch_timeout_ms=200), max_response_mb=1)
    servable = Servable(tmp_path / "1", options)
    words = ["a", "b" * 3_000, "c"]
    found = {}

    def submit(number):
        try:
            found[number] = ask(servable, "", {"x": texts(words[number])["text"]})["y"].tolist()
        except ServingError as error:
            found[number] = error.code

    with at_the_same_time(submit, 3):
        pass
    assert found == {0: [b"a" * 500], 1: "RESOURCE_EXHAUSTED", 2: [b"c" * 500]}
