"""Tests calls that run in a batch or alone."""

import asyncio
import threading

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.server.test_model_server import wait_for
from tfreps.serving import BatchOptions, ServerOptions
from tfreps.serving.server.models.signature_runner import SignatureRunner, as_array, bytes_of
from tfreps.serving.server.requests.event_loop import server_loop
from tfreps.serving.server.requests.lane import Call
from tfreps.serving.server.requests.serving_error import ServingError, as_serving_error
from tfreps.serving.server.requests.ticket import Ticket

NUMBERS = [tf.TensorSpec([None], tf.int32, "x")]


def times(x):
    return {"y": x * 2, "together": tf.fill([tf.shape(x)[0]], tf.shape(x)[0])}


def refuses_three(x):
    with tf.control_dependencies([tf.debugging.assert_none_equal(x, 3)]):
        return {"y": x * 2}


class Runner:
    """Runner whose calls of the model wait until `go_on` is set."""

    def __init__(self, function, monkeypatch, max_response_mb=128, **batching):
        self.go_on = threading.Event()
        self.asked = []
        call = Ticket.call

        def call_later(ticket, function, inputs):
            self.asked.append(inputs["x"].tolist())
            self.go_on.wait(20)
            return call(ticket, function, inputs)

        monkeypatch.setattr(Ticket, "call", call_later)
        options = ServerOptions(
            batching=BatchOptions(**{"max_batch_size": 8, **batching}),
            max_response_mb=max_response_mb,
        )
        concrete = tf.function(lambda x: function(x)).get_concrete_function(*NUMBERS)
        self.runner = SignatureRunner({"f": concrete}, {"f"}, options)

    def submit(self, *rows, outputs=("y",), queue="batched"):
        x = np.array(rows, "int32")
        call = Call("f", {"x": x}, list(outputs), len(x), queue, Ticket(20), dict)
        return asyncio.run_coroutine_threadsafe(self.runner.run(call), server_loop())

    def submit_together(self, *calls):
        """Submits a call and, while it runs, others that form a batch."""
        first = self.submit(0)
        wait_for(lambda: self.asked)
        futures = [self.submit(*rows) for rows in calls]
        self.go_on.set()
        first.result(20)
        return futures


def test_merged_and_taken_apart_again(monkeypatch):
    runner = Runner(times, monkeypatch)
    futures = runner.submit_together([1], [2, 3], [4, 5, 6])
    assert [f.result(20)["y"].tolist() for f in futures] == [[2], [4, 6], [8, 10, 12]]
    assert runner.asked == [[0], [1, 2, 3, 4, 5, 6]]


def test_every_call_has_the_outputs_that_it_wants(monkeypatch):
    runner = Runner(times, monkeypatch)
    first = runner.submit(0)
    wait_for(lambda: runner.asked)
    futures = [runner.submit(n, outputs=names) for n, names in ((1, ["y"]), (2, ["together"]))]
    runner.go_on.set()
    assert list(first.result(20)) == ["y"]
    found = [future.result(20) for future in futures]
    assert [list(each) for each in found] == [["y"], ["together"]]
    assert found[1]["together"].tolist() == [2]


def test_what_fails_together_is_asked_again_alone(monkeypatch):
    runner = Runner(refuses_three, monkeypatch)
    good, bad, fine = runner.submit_together([1], [3], [4])
    assert good.result(20)["y"].tolist() == [2] and fine.result(20)["y"].tolist() == [8]
    assert as_serving_error(bad.exception(20)).code == "INVALID_ARGUMENT"
    assert runner.asked[:2] == [[0], [1, 3, 4]] and sorted(runner.asked[2:]) == [[1], [3], [4]]


def test_outputs_without_rows_stop_the_merging(monkeypatch):
    runner = Runner(lambda x: {"y": tf.concat([x, x], 0)}, monkeypatch)
    for number in range(2):
        runner.asked.clear()
        runner.go_on.clear()
        futures = runner.submit_together([1], [2])
        assert [f.result(20)["y"].tolist() for f in futures] == [[1, 1], [2, 2]]
        together = [[1, 2]] if number == 0 else []
        assert sorted(runner.asked) == sorted([[0], [1], [2], *together])


def test_an_answer_that_is_too_large(monkeypatch):
    runner = Runner(lambda x: {"y": tf.repeat(x[:, None], 100_000, 1)}, monkeypatch, 1)
    runner.go_on.set()
    with pytest.raises(ServingError, match="at most 1048576 bytes"):
        runner.submit(1, 2, 3).result(20)
    assert runner.submit(1).result(20)["y"].shape == (1, 100_000)


def test_long_calls_do_not_delay_others(monkeypatch):
    runner = Runner(times, monkeypatch)
    long = runner.submit(1, queue="long")
    alone = runner.submit(2, queue="single")
    together = runner.submit(3)
    wait_for(lambda: len(runner.asked) == 3)  # all three run
    runner.go_on.set()
    assert [f.result(20)["y"].tolist() for f in (long, alone, together)] == [[2], [4], [6]]


def test_sizes_and_arrays():
    assert bytes_of(np.array([b"abc", b""], object)) == 3 + 16 and bytes_of(np.zeros([2])) == 16
    assert as_array("y", tf.constant(b"a")).dtype == object
    with pytest.raises(ServingError, match="Output 'y' must be a dense tensor; got RaggedTensor"):
        as_array("y", tf.RaggedTensor.from_row_splits([1], [0, 1]))
