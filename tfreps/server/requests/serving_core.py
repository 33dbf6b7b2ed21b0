"""ServingCore: the part that the gRPC and the REST interface share."""

import contextlib
import time

from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from tfreps.server.requests.dispatcher import Dispatcher
from tfreps.server.requests.serving_error import ServingError, as_serving_error
from tfreps.server.requests.serving_metrics import ServingMetrics

SIGNATURE_DEF = "signature_def"  # the one kind of metadata there is


class ServingCore:
    """Models, threads and counters of a server.

    Args:
        pool: a `ModelPool`.
        dispatcher: a `Dispatcher`.
        most_elements: largest size of an input.

    Attributes:
        metrics: a `ServingMetrics`.

    Example:
    >>> from tfreps.server.models.model_pool import ModelPool
    >>> core = ServingCore(ModelPool([], load=None))
    >>> core.pool.ready
    True
    """

    def __init__(self, pool, dispatcher=None, most_elements=2**24):
        self.pool = pool
        self.dispatcher = dispatcher or Dispatcher()
        self.most_elements = most_elements
        self.metrics = ServingMetrics()

    @property
    def ready(self):
        """Whether every model has a version that answers, and none is stuck."""
        return self.pool.ready and not any(map(self.is_stuck, self.pool.models))

    def is_stuck(self, name):
        """Whether the newest version of a model works on what took longer than it may."""
        with contextlib.suppress(ServingError), self.pool.lease(name) as (_, servable):
            return servable.is_stuck
        return False

    def run(self, model, servable, signature, inputs, outputs=(), write=None):
        """Returns the answer of a leased version, converted by `write`; counts the model's time.

        Args:
            model: its name.
            servable: a `Servable`.
            signature: name of a signature, empty for the default one.
            inputs: dict of NumPy arrays.
            outputs: names of the outputs wanted, all for none.
            write: function of a dict of NumPy arrays, or None for the dict itself.
        """
        started = time.perf_counter()

        def finish(answer):
            self.metrics.record_run(model, time.perf_counter() - started)
            return answer if write is None else write(answer)

        return servable.run(signature, inputs, outputs, self.dispatcher.ticket, finish)

    @contextlib.contextmanager
    def recorded(self, model, api, entrypoint):
        """Counts the requests of the block; turns whatever it raises into a ServingError."""
        started = time.perf_counter()
        code = "OK"
        try:
            yield
        except Exception as error:
            problem = as_serving_error(error)
            code = problem.code
            raise problem from error
        finally:
            if model in self.pool.models:
                seconds = time.perf_counter() - started
                self.metrics.record(model, api, entrypoint, code, seconds)

    def status_message(self, name, version=None, label=None):
        """Makes the `GetModelStatusResponse` for the versions of a model.

        A label is not looked at: as in TensorFlow Serving, the answer has all versions then.

        Raises:
            ServingError: NOT_FOUND.
        """
        message = get_model_status_pb2.GetModelStatusResponse()
        states = get_model_status_pb2.ModelVersionStatus.State
        for number, state, error in self.pool.status(name, version):
            entry = message.model_version_status.add(version=number, state=states.Value(state))
            entry.status.error_code = error.number if error else 0
            entry.status.error_message = error.message if error else ""
        return message

    def metadata_message(self, name, version=None, label=None):
        """Makes the `GetModelMetadataResponse` with the signatures of a version.

        Raises:
            ServingError: NOT_FOUND; INVALID_ARGUMENT for a label that is none.
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
