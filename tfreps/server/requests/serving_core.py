"""ServingCore: the part of a server that the gRPC and REST interfaces share."""

import asyncio
import contextlib
import time

from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from tfreps.server.requests.dispatcher import Dispatcher
from tfreps.server.requests.serving_error import ServingError, as_serving_error
from tfreps.server.requests.serving_metrics import ServingMetrics

SIGNATURE_DEF = "signature_def"  # the only kind of metadata


class ServingCore:
    """Models, threads and metrics of a server, independent of its interfaces.

    Args:
        pool: `ModelPool`. The models.
        dispatcher: `Dispatcher`. If `None`, a default one is created.
        most_elements: int. Maximum number of elements of an input. Defaults to 2**20.

    Attributes:
        metrics: `ServingMetrics` of all requests.

    Example:
    >>> from tfreps.server.models.model_pool import ModelPool
    >>> core = ServingCore(ModelPool([], load=None))
    >>> core.pool.ready
    True
    """

    def __init__(self, pool, dispatcher=None, most_elements=2**20):
        self.pool = pool
        self.dispatcher = dispatcher or Dispatcher()
        self.most_elements = most_elements
        self.metrics = ServingMetrics()

    @property
    def ready(self):
        """`True` if every model has a loaded version and no model is stuck; see `is_stuck`."""
        return self.pool.ready and not any(map(self.is_stuck, self.pool.models))

    def is_stuck(self, name):
        """Returns True if requests that exceeded their time limit block a model."""
        with contextlib.suppress(ServingError), self.pool.lease(name) as (_, servable):
            return servable.is_stuck
        return False

    def run(self, model, servable, signature, inputs, outputs=(), write=None):
        """Runs a leased version and waits for its answer; see `submit`."""
        finish = self._finish(model, write)
        return servable.run(signature, inputs, outputs, self.dispatcher.ticket, finish)

    def submit(self, model, servable, signature, inputs, outputs=(), write=None):
        """Starts a request to a leased version, and records the time until its answer.

        The time includes any wait in a queue. The ticket is that of the calling thread.

        Args:
            model: str. The name of the model.
            servable: `Servable`. The leased version of the model.
            signature: str. The name of a signature. If empty, the default one is used.
            inputs: dict from names to NumPy arrays.
            outputs: List of str. Names of the outputs to return. If empty, all outputs are
                returned.
            write: Function that converts the dict of output arrays. If `None`, the dict itself is
                returned.

        Returns:
            A `concurrent.futures.Future`; see `Servable.submit`.

        Raises:
            ServingError: If there is no such signature, the request does not match it or exceeds a
                limit, or too many requests are waiting.
        """
        finish = self._finish(model, write)
        return servable.submit(signature, inputs, outputs, self.dispatcher.ticket, finish)

    def _finish(self, model, write):
        started = time.perf_counter()

        def finish(answer):
            self.metrics.record_run(model, time.perf_counter() - started)
            return answer if write is None else write(answer)

        return finish

    def ask(self, which, start):
        """Leases a version until its answer is there.

        Args:
            which: Tuple `(name, version, label)` that selects the version as in `ModelPool.lease`.
            start: Function that takes the version number and the `Servable`, starts a request, and
                returns its future.

        Returns:
            The future.

        Raises:
            ServingError: If there is no such version, or `start` raises it.
        """
        with contextlib.ExitStack() as stack:
            number, servable = stack.enter_context(self.pool.lease(*which))
            future = start(number, servable)
            lease = stack.pop_all()
        future.add_done_callback(lambda _: lease.close())
        return future

    @contextlib.contextmanager
    def recorded(self, model, api, entrypoint):
        """Context manager that records the request that its block handles.

        Errors in the block are converted to ServingErrors. Requests for unknown models are not
        recorded.

        Args:
            model: str. The name of the model.
            api: str. The name of the method, such as `"GetModelStatus"`.
            entrypoint: str. `"GRPC"` or `"REST"`.
        """
        started = time.perf_counter()
        code = "OK"
        try:
            yield
        except asyncio.CancelledError:  # the client has disconnected
            code = "CANCELLED"
            raise
        except Exception as error:
            problem = as_serving_error(error)
            code = problem.code
            if problem is error:
                raise
            raise problem from error
        finally:
            if model in self.pool.models:
                seconds = time.perf_counter() - started
                self.metrics.record(model, api, entrypoint, code, seconds)

    def status_message(self, name, version=None, label=None):
        """Returns the `GetModelStatusResponse` for the versions of a model.

        As in TensorFlow Serving, `label` is ignored. If `version` is `None`, the response contains
        all versions.

        Raises:
            ServingError: NOT_FOUND if there is no such model or version.
        """
        message = get_model_status_pb2.GetModelStatusResponse()
        states = get_model_status_pb2.ModelVersionStatus.State
        for number, state, error in self.pool.status(name, version):
            entry = message.model_version_status.add(version=number, state=states.Value(state))
            entry.status.error_code = error.number if error else 0
            entry.status.error_message = error.message if error else ""
        return message

    def metadata_message(self, name, version=None, label=None):
        """Returns the `GetModelMetadataResponse` with the signatures of a version.

        The arguments select the version as in `ModelPool.lease`.

        Raises:
            ServingError: NOT_FOUND if there is no such model or the version is not loaded;
                INVALID_ARGUMENT if `name` is empty or there is no such label.
        """
        message = get_model_metadata_pb2.GetModelMetadataResponse()
        signatures = get_model_metadata_pb2.SignatureDefMap()
        with self.pool.lease(name, version, label) as (number, servable):
            message.model_spec.name = name
            message.model_spec.version.value = number
            for key, definition in servable.definitions.items():
                signatures.signature_def[key].CopyFrom(definition)
        message.metadata[SIGNATURE_DEF].Pack(signatures)
        return message
