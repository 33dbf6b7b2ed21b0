"""Tests time limits and cancellation of calls."""

import time
import types

import pytest
import tensorflow as tf

from tests.serving.server.small_models import at_the_same_time, save, spec
from tests.serving.server.test_model_server import wait_for
from tfreps.serving.server.requests.call import Call
from tfreps.serving.server.requests.serving_error import ServingError


def test_time_goes_by():
    call = Call(0.05, limit=7)
    call.check()
    assert 0 < call.remaining <= 0.05 and (call.seconds, call.limit) == (0.05, 7)
    time.sleep(0.06)
    assert call.remaining == 0
    with pytest.raises(ServingError, match="took longer than 0.05 seconds") as caught:
        call.check()
    assert caught.value.code == "DEADLINE_EXCEEDED"


def test_cancellation():
    call, told = Call(10), []
    call.on_cancel = lambda: told.append("cancelled")
    call.cancel()
    assert told == ["cancelled"]
    with pytest.raises(ServingError, match="The client has disconnected") as caught:
        call.check()
    assert (caught.value.code, caught.value.http_status) == ("CANCELLED", 499)


def test_a_function_stops_when_its_own_client_goes(tmp_path):
    def endless(x):
        return {"y": tf.while_loop(lambda n: n >= 0, lambda n: n * 0, [x])[0]}

    save(tmp_path, serving_default=(endless, {"x": spec("int32")}))
    loaded = tf.saved_model.load(tmp_path)
    finite, one, other = Call(60), Call(60), Call(60)
    for call, value in ((finite, -3), (one, 0), (other, 0)):
        call.signature = types.SimpleNamespace(function=loaded.signatures["serving_default"])
        call.inputs = {"x": tf.constant(value)}
    assert int(finite.run()["y"]) == -3
    ended = []

    def wait(call):
        with pytest.raises(tf.errors.CancelledError):
            call.run()
        ended.append(call)

    with at_the_same_time(lambda n: wait((one, other)[n]), 2):
        time.sleep(0.2)
        one.cancel()
        wait_for(lambda: ended)
        time.sleep(0.1)
        assert ended == [one]
        other.cancel()
    assert ended == [one, other]
    with pytest.raises(tf.errors.CancelledError):  # the client disconnects before the call starts
        one.run()
