"""Answers and errors of a call."""

import pytest

from tfreps.server.requests.model_call import ModelCall
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.ticket import Ticket


def test_an_answer_and_errors():
    call = ModelCall("", {}, ["y"], 1, Ticket(20), write=lambda outputs: outputs["y"])
    assert not call.future.cancel() and not call.future.done()
    call.write({"y": 3})
    assert not call.future.done()
    call.deliver()
    assert call.future.result() == 3
    call = ModelCall("", {}, ["y"], 1, Ticket(20), write=lambda outputs: outputs["y"])
    call.write({})
    call.deliver()
    assert isinstance(call.future.exception(), KeyError)
    call = ModelCall("", {}, [], 1, Ticket(20), write=dict)
    call.error = ValueError("no")
    call.deliver()
    assert str(call.future.exception()) == "no"


def test_nothing_is_written_for_a_client_that_is_gone():
    ticket = Ticket(20)
    call = ModelCall("", {}, [], 1, ticket, write=lambda _: pytest.fail("was written"))
    ticket.cancel()
    call.write({})
    call.deliver()
    assert isinstance(call.future.exception(), ServingError)
