"""The time of a request, and what ends when nobody waits for it any more."""

import threading
import time

import pytest
import tensorflow as tf

from tfreps.server.serving_error import ServingError
from tfreps.server.ticket import Ticket


def test_time_goes_by():
    ticket = Ticket(0.05, limit=7)
    ticket.check()
    assert 0 < ticket.remaining <= 0.05 and (ticket.seconds, ticket.limit) == (0.05, 7)
    time.sleep(0.06)
    assert ticket.remaining == 0
    with pytest.raises(ServingError, match="took longer than 0.05 seconds") as caught:
        ticket.check()
    assert caught.value.code == "DEADLINE_EXCEEDED"


def test_who_has_to_know_is_told():
    ticket, told = Ticket(10), []
    with ticket.when_cancelled(lambda: told.append("after its block")):
        pass
    with ticket.when_cancelled(lambda: told.append("within")):
        ticket.cancel()
        ticket.cancel()
    with ticket.when_cancelled(lambda: told.append("before")):
        pass
    assert told == ["within", "before"]
    with pytest.raises(ServingError, match="The client is gone") as caught:
        ticket.check()
    assert (caught.value.code, caught.value.http_status) == ("CANCELLED", 499)


def test_a_function_stops_when_its_client_goes():
    @tf.function(input_signature=[])
    def endless():
        return tf.while_loop(lambda n: n >= 0, lambda n: n * 0, [tf.constant(0)])

    run, ticket = endless.get_concrete_function(), Ticket(60)
    threading.Timer(0.1, ticket.cancel).start()
    with pytest.raises(tf.errors.CancelledError), ticket.running():
        run()
    with pytest.raises(tf.errors.CancelledError), ticket.running():  # gone before it begins
        run()
