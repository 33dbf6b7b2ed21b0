"""Tests time limits and cancellation of requests."""

import time

import pytest
import tensorflow as tf

from tests.serving.server.small_models import at_the_same_time, save, spec
from tests.serving.server.test_model_server import wait_for
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.requests.ticket import Ticket


def test_time_goes_by():
    ticket = Ticket(0.05, limit=7)
    ticket.check()
    assert 0 < ticket.remaining <= 0.05 and (ticket.seconds, ticket.limit) == (0.05, 7)
    time.sleep(0.06)
    assert ticket.remaining == 0
    with pytest.raises(ServingError, match="took longer than 0.05 seconds") as caught:
        ticket.check()
    assert caught.value.code == "DEADLINE_EXCEEDED"


def test_cancellation():
    ticket, told = Ticket(10), []
    ticket.on_cancel = lambda: told.append("cancelled")
    ticket.cancel()
    assert told == ["cancelled"]
    with pytest.raises(ServingError, match="The client has disconnected") as caught:
        ticket.check()
    assert (caught.value.code, caught.value.http_status) == ("CANCELLED", 499)


def test_a_function_stops_when_its_own_client_goes(tmp_path):
    def endless(x):
        return {"y": tf.while_loop(lambda n: n >= 0, lambda n: n * 0, [x])[0]}

    save(tmp_path, serving_default=(endless, {"x": spec("int32")}))
    loaded = tf.saved_model.load(tmp_path)
    run, inputs = loaded.signatures["serving_default"], {"x": tf.constant(0)}
    assert int(Ticket(60).call(run, {"x": tf.constant(-3)})["y"]) == -3
    one, other, ended = Ticket(60), Ticket(60), []

    def wait(ticket):
        with pytest.raises(tf.errors.CancelledError):
            ticket.call(run, inputs)
        ended.append(ticket)

    with at_the_same_time(lambda n: wait((one, other)[n]), 2):
        time.sleep(0.2)
        one.cancel()
        wait_for(lambda: ended)
        time.sleep(0.1)
        assert ended == [one]
        other.cancel()
    assert ended == [one, other]
    with pytest.raises(tf.errors.CancelledError):  # the client disconnects before the call starts
        one.call(run, inputs)
