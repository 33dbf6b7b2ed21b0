"""Calls that run together or alone."""

import threading

import numpy as np
import pytest
import tensorflow as tf

from tests.server.test_model_server import wait_for
from tfreps.server.models.batching import BatchOptions
from tfreps.server.models.signature_runner import SignatureRunner, as_array, bytes_of
from tfreps.server.requests.model_call import ModelCall
from tfreps.server.requests.request_limits import RequestLimits
from tfreps.server.requests.serving_error import ServingError, as_serving_error
from tfreps.server.requests.ticket import Ticket

NUMBERS = [tf.TensorSpec([None], tf.int32, "x")]


def concrete(function):
    found = tf.function(lambda x: function(x)).get_concrete_function(*NUMBERS)
    found._arg_keywords = ["x"]  # as in a loaded SavedModel
    return found


def times(x):
    return {"y": x * 2, "together": tf.fill([tf.shape(x)[0]], tf.shape(x)[0])}


def refuses_three(x):
    with tf.control_dependencies([tf.debugging.assert_none_equal(x, 3)]):
        return {"y": x * 2}


class Runner:
    """Runner whose first batch waits until all calls are submitted."""

    def __init__(self, function, merged=("f",), limits=None, **options):
        self.go_on = threading.Event()
        options = BatchOptions(**{"max_rows": 8, **options})
        self.functions = {"f": concrete(function)}
        self.runner = SignatureRunner(
            self.functions, merged, limits or RequestLimits(), options, direct_runs=1
        )
        self.asked = []
        ask = self.runner._ask

        def ask_later(signature, inputs, ticket=None):
            self.asked.append(inputs["x"].tolist())
            self.go_on.wait(20)
            return ask(signature, inputs, ticket)

        self.runner._ask = ask_later

    def submit(self, *rows, outputs=("y",), ticket=None, **kind):
        x = np.array(rows, "int32")
        call = ModelCall("f", {"x": x}, list(outputs), len(x), ticket or Ticket(20), dict)
        self.runner.submit(call, **{"merges": True, "is_long": False, **kind})
        return call.future

    def submit_together(self, *calls):
        """Submits a call, and others while it runs."""
        first = self.submit(0)
        wait_for(lambda: self.asked)
        futures = [self.submit(*rows) for rows in calls]
        self.go_on.set()
        first.result(20)
        return futures


def test_merged_and_taken_apart_again():
    runner = Runner(times)
    futures = runner.submit_together([1], [2, 3], [4, 5, 6])
    assert [f.result(20)["y"].tolist() for f in futures] == [[2], [4, 6], [8, 10, 12]]
    assert runner.asked == [[0], [1, 2, 3, 4, 5, 6]]


def test_every_call_has_the_outputs_that_it_wants():
    runner = Runner(times)
    first = runner.submit(0)
    futures = [runner.submit(n, outputs=names) for n, names in ((1, ["y"]), (2, ["together"]))]
    runner.go_on.set()
    assert list(first.result(20)) == ["y"]
    found = [future.result(20) for future in futures]
    assert [list(each) for each in found] == [["y"], ["together"]]
    assert found[1]["together"].tolist() == [2]


def test_what_fails_together_is_asked_again_alone():
    runner = Runner(refuses_three)
    good, bad, fine = runner.submit_together([1], [3], [4])
    assert good.result(20)["y"].tolist() == [2] and fine.result(20)["y"].tolist() == [8]
    assert as_serving_error(bad.exception(20)).code == "INVALID_ARGUMENT"
    assert runner.asked == [[0], [1, 3, 4], [1], [3], [4]]
    assert runner.runner.merged == {"f"}


def test_outputs_without_rows_stop_the_merging():
    runner = Runner(lambda x: {"y": tf.concat([x, x], 0)})
    futures = runner.submit_together([1], [2])
    assert [f.result(20)["y"].tolist() for f in futures] == [[1, 1], [2, 2]]
    assert runner.runner.merged == set()


def test_an_answer_that_is_too_large_is_not_converted():
    limits = RequestLimits(answer_bytes=50)
    runner = Runner(lambda x: {"y": tf.repeat(x[:, None], 6, 1)}, limits=limits)
    runner.go_on.set()
    with pytest.raises(ServingError, match="more than the 50 that are allowed"):
        runner.submit(1, 2, 3).result(20)
    assert runner.submit(1).result(20)["y"].shape == (1, 6)


def test_long_calls_do_not_delay_others():
    runner = Runner(times)
    long = runner.submit(1, merges=False, is_long=True)
    alone = runner.submit(2, merges=False)
    together = runner.submit(3)
    wait_for(lambda: len(runner.asked) == 3)  # all three run
    runner.go_on.set()
    assert [f.result(20)["y"].tolist() for f in (long, alone, together)] == [[2], [4], [6]]


def test_a_full_queue_is_unavailable():
    runner = Runner(times, max_queued=1)
    first = runner.submit(0)
    wait_for(lambda: runner.asked)
    second = runner.submit(1)
    with pytest.raises(ServingError, match="1 batched requests are already waiting"):
        runner.submit(2)
    runner.go_on.set()
    assert first.result(20) and second.result(20)


def test_sizes_and_arrays():
    assert bytes_of(tf.zeros([2, 3])) == 24 and bytes_of(tf.constant([b"abc", b""])) == 3 + 16
    assert bytes_of(np.array([b"abc", b""], object)) == 3 + 16 and bytes_of(np.zeros([2])) == 16
    assert bytes_of(tf.RaggedTensor.from_row_splits([1], [0, 1])) == 0
    assert as_array("y", tf.constant(b"a")).dtype == object
    with pytest.raises(ServingError, match="Output 'y' is not a dense tensor"):
        as_array("y", tf.RaggedTensor.from_row_splits([1], [0, 1]))
