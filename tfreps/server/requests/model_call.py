"""ModelCall: call of a signature that waits in a queue, and the future with its answer."""

import concurrent.futures


class ModelCall:
    """Call of a signature of a model, on behalf of one request.

    Args:
        signature: str. The name of the signature. Calls of one signature may run together.
        inputs: dict from input names to NumPy arrays.
        outputs: List of str. Names of the outputs to return.
        rows: int. Number of rows of the inputs.
        ticket: The `Ticket` of the request.
        write: Function that converts the outputs, a dict from names to NumPy arrays, to the answer.
            It is called before the worker takes its next calls, since answers can be large.

    Attributes:
        future: `concurrent.futures.Future` with the answer or the error. It cannot be cancelled;
            cancel the ticket instead.
        returns: int. Number of times in a row that the client asked again soon after an answer.
        error: Exception that `deliver` sets instead of an answer. If `None`, there is no error.

    Example:
    >>> from tfreps.server.requests.ticket import Ticket
    >>> call = ModelCall("serving_default", {}, ["y"], 1, Ticket(10), write=len)
    >>> call.write({"y": [1.5]})
    >>> call.deliver()
    >>> call.future.result()
    1
    """

    def __init__(self, signature, inputs, outputs, rows, ticket, write):
        self.signature = signature
        self.inputs = inputs
        self.outputs = outputs
        self.rows = rows
        self.ticket = ticket
        self.returns = 0
        self.future = concurrent.futures.Future()
        self.future.set_running_or_notify_cancel()
        self._write = write
        self._answer = self.error = None

    def write(self, outputs):
        """Computes the answer `write(outputs)`, or its error.

        If the client has disconnected or the time is up, nothing is written.
        """
        try:
            self.ticket.check()
            self._answer = self._write(outputs)
        except Exception as error:
            self.error = error

    def deliver(self):
        """Sets the future, after `write` or after an error."""
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self._answer)
