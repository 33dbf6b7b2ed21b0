"""ServingCore: the part of a server that the gRPC and REST interfaces share."""

import asyncio
import contextlib
import time

from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from tfreps.serving.server.requests.call import Call, too_late
from tfreps.serving.server.requests.server_options import ServerOptions
from tfreps.serving.server.requests.serving_error import ServingError, as_serving_error
from tfreps.serving.server.requests.serving_metrics import ServingMetrics

SIGNATURE_DEF = "signature_def"  # the only kind of metadata that is supported
# Maximum size in bytes of a request that is parsed in the event loop, not in a thread.
SMALL = 2**14


class ServingCore:
    """Models, limits and metrics of a server, independent of its interfaces.

    A request is checked and converted to arrays on the event loop (or in a thread, if it is large),
    waits in a queue of its model, and runs in a thread of this queue. gRPC messages are decoded and
    encoded on the event loop. All coroutines of this class must run on one event loop.

    Args:
        pool: `ModelPool` with the models.
        options: `ServerOptions`. If `None` (the default), the default options are used.

    Attributes:
        in_progress: int. The number of requests in progress. A request that exceeded its time limit
            counts until its call of the model has ended, so that the machine is not overloaded.
        metrics: `ServingMetrics` of all requests.
    """

    def __init__(self, pool, options=None):
        self.pool = pool
        self.options = options or ServerOptions()
        self.in_progress = 0
        self.metrics = ServingMetrics()

    @property
    def ready(self):
        """`True` if every model has a loaded version, and `is_stuck` is `False` for all models."""
        return self.pool.ready and not any(map(self.is_stuck, self.pool.models))

    def is_stuck(self, name):
        """Returns True if a model is blocked by requests that exceeded their time limit."""
        with contextlib.suppress(ServingError), self.pool.lease(name) as (_, servable):
            return servable.is_stuck
        return False

    def call(self, seconds=None):
        """Returns a `Call` for a request whose client waits at most `seconds` seconds.

        If `seconds` is `None`, the time limit of the server applies.
        """
        limit = self.options.timeout_seconds
        return Call(limit if seconds is None else min(seconds, limit), limit)

    async def predict(self, call, which, size, read):
        """Parses a request of `size` bytes, runs the model, and returns the result of `call.write`.

        `which` contains the arguments of `ModelPool.lease`. `read` takes the call, the `Servable`
        and its version number, parses the request, and passes its content to `Servable.prepare`.
        """
        with self.pool.lease(*which) as (number, servable):
            if size > SMALL:
                await asyncio.to_thread(read, call, servable, number)
            else:
                read(call, servable, number)
            started = time.perf_counter()
            response = await servable.run(call)
            self.metrics.record_run(which[0], time.perf_counter() - started)
            return response

    async def respond(self, call, work, *arguments):
        """Awaits `work(call, *arguments)` as a request in progress, and returns its result.

        Raises a ServingError if too many requests are in progress or the time limit of the call is
        exceeded. In any case, the call is cancelled before this coroutine ends.
        """
        most = self.options.max_requests
        if self.in_progress >= most:
            raise ServingError(
                "UNAVAILABLE",
                f"At most {most} requests may be in progress (server option `max_requests`); "
                f"{self.in_progress} requests are in progress. Try again later.",
            )
        self.in_progress += 1
        task = asyncio.ensure_future(work(call, *arguments))
        task.add_done_callback(self._leave)
        try:
            await asyncio.wait([task], timeout=call.remaining)
            if not task.done():
                raise too_late(call.seconds)
            return task.result()
        finally:
            call.cancel()

    def _leave(self, task):
        self.in_progress -= 1
        if not task.cancelled():
            task.exception()  # reads the error, because asyncio logs errors that are not read

    @contextlib.contextmanager
    def recorded(self, model, api, entrypoint):
        """Context manager that records a request in `metrics`.

        An exception in its block is raised as a ServingError. Requests for unknown models are not
        recorded. `model`, `api` and `entrypoint` are arguments of `ServingMetrics.record`.
        """
        started = time.perf_counter()
        code = "OK"
        try:
            yield
        except asyncio.CancelledError:  # raised if the client has disconnected
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
        """Returns a `GetModelStatusResponse` with the status of the versions of a model.

        If `version` is given, the response contains only this version. `label` is ignored, as in
        TensorFlow Serving.
        """
        message = get_model_status_pb2.GetModelStatusResponse()
        states = get_model_status_pb2.ModelVersionStatus.State
        for number, state, error in self.pool.status(name, version):
            entry = message.model_version_status.add(version=number, state=states.Value(state))
            entry.status.error_code = error.number if error else 0
            entry.status.error_message = error.message if error else ""
        return message

    def metadata_message(self, name, version=None, label=None):
        """Returns a `GetModelMetadataResponse` with the signatures of a version of a model."""
        message = get_model_metadata_pb2.GetModelMetadataResponse()
        signatures = get_model_metadata_pb2.SignatureDefMap()
        with self.pool.lease(name, version, label) as (number, servable):
            message.model_spec.name = name
            message.model_spec.version.value = number
            for key, definition in servable.definitions.items():
                signatures.signature_def[key].CopyFrom(definition)
        message.metadata[SIGNATURE_DEF].Pack(signatures)
        return message
