"""Tests calls that run in a batch or alone."""

import asyncio
import threading

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.server.small_models import save, spec
from tests.serving.server.test_model_server import wait_for
from tfreps.serving import BatchOptions, ServerOptions
from tfreps.serving.server.models.servable import Servable, as_array, bytes_of
from tfreps.serving.server.requests.call import Call
from tfreps.serving.server.requests.event_loop import server_loop
from tfreps.serving.server.requests.serving_error import ServingError, as_serving_error


def times(x):
    return {"y": x * 2, "together": tf.fill([tf.shape(x)[0]], tf.shape(x)[0])}


def refuses_three(x):
    with tf.control_dependencies([tf.debugging.assert_none_equal(x, 3)]):
        return {"y": x * 2}


class Model:
    """Served function whose calls wait until `go_on` is set, and are recorded in `asked`."""

    def __init__(self, folder, monkeypatch, function):
        self.go_on = threading.Event()
        self.asked = []
        run = Call.run

        def run_later(call):
            self.asked.append(call.inputs["x"].tolist())
            self.go_on.wait(20)
            return run(call)

        monkeypatch.setattr(Call, "run", run_later)
        save(folder / "1", serving_default=(function, {"x": spec("int32", None)}))
        options = ServerOptions(batching=BatchOptions(max_batch_size=8), max_response_mb=1)
        self.servable = Servable(folder / "1", options)

    def submit(self, *rows, outputs=("y",), queue=None):
        call = Call(20)
        signature = self.servable.signature("")
        self.servable.prepare(call, signature, {"x": np.array(rows, "int32")}, outputs)
        call.queue = queue or call.queue
        return asyncio.run_coroutine_threadsafe(self.servable.run(call), server_loop())

    def submit_together(self, *calls):
        """Submits a call and, while it runs, others that form a batch."""
        first = self.submit(0)
        wait_for(lambda: self.asked)
        futures = [self.submit(*rows) for rows in calls]
        self.go_on.set()
        first.result(20)
        return futures


@pytest.fixture
def model(tmp_path, monkeypatch):
    return lambda function: Model(tmp_path, monkeypatch, function)


def test_merged_and_taken_apart_again(model):
    served = model(times)
    futures = served.submit_together([1], [2, 3], [4, 5, 6])
    assert [f.result(20)["y"].tolist() for f in futures] == [[2], [4, 6], [8, 10, 12]]
    assert served.asked == [[0], [1, 2, 3, 4, 5, 6]]


def test_every_call_has_the_outputs_that_it_wants(model):
    served = model(times)
    first = served.submit(0)
    wait_for(lambda: served.asked)
    futures = [served.submit(n, outputs=names) for n, names in ((1, ["y"]), (2, ["together"]))]
    served.go_on.set()
    assert list(first.result(20)) == ["y"]
    found = [future.result(20) for future in futures]
    assert [list(each) for each in found] == [["y"], ["together"]]
    assert found[1]["together"].tolist() == [2]


def test_what_fails_together_is_asked_again_alone(model):
    served = model(refuses_three)
    good, bad, fine = served.submit_together([1], [3], [4])
    assert good.result(20)["y"].tolist() == [2] and fine.result(20)["y"].tolist() == [8]
    assert as_serving_error(bad.exception(20)).code == "INVALID_ARGUMENT"
    assert served.asked[:2] == [[0], [1, 3, 4]] and sorted(served.asked[2:]) == [[1], [3], [4]]


def test_outputs_without_rows_stop_the_merging(model):
    served = model(lambda x: {"y": tf.concat([x, x], 0)})
    for number in range(2):
        served.asked.clear()
        served.go_on.clear()
        futures = served.submit_together([1], [2])
        assert [f.result(20)["y"].tolist() for f in futures] == [[1, 1], [2, 2]]
        together = [[1, 2]] if number == 0 else []
        assert sorted(served.asked) == sorted([[0], [1], [2], *together])


def test_an_answer_that_is_too_large(model):
    served = model(lambda x: {"y": tf.repeat(x[:, None], 100_000, 1)})
    served.go_on.set()
    with pytest.raises(ServingError, match="at most 1048576 bytes"):
        served.submit(1, 2, 3).result(20)
    assert served.submit(1).result(20)["y"].shape == (1, 100_000)


def test_long_calls_do_not_delay_others(model):
    served = model(times)
    calls = [served.submit(n, queue=queue) for n, queue in enumerate(("long", "single", "batched"))]
    wait_for(lambda: len(served.asked) == 3)  # all three run
    served.go_on.set()
    assert [call.result(20)["y"].tolist() for call in calls] == [[0], [2], [4]]


def test_sizes_and_arrays():
    assert bytes_of(np.array([b"abc", b""], object)) == 3 + 16 and bytes_of(np.zeros([2])) == 16
    assert as_array("y", tf.constant(b"a")).dtype == object
    with pytest.raises(ServingError, match="Output 'y' must be a dense tensor; got RaggedTensor"):
        as_array("y", tf.RaggedTensor.from_row_splits([1], [0, 1]))
