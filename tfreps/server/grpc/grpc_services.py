"""PredictionService and ModelService of TensorFlow Serving, answered by a ServingCore."""

import functools

import grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tfreps.server.models.servable import DEFAULT
from tfreps.server.requests.serving_core import SIGNATURE_DEF
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.tensor_protos import fill_proto, to_array

CODES = {code.name: code for code in grpc.StatusCode}


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata; the other methods are UNIMPLEMENTED.

    Args:
        core: a `ServingCore`.

    Attributes:
        is_ending: whether Predict refuses new requests.
    """

    is_ending = False

    def __init__(self, core):
        self._core = core

    def Predict(self, request, context):  # noqa: N802 (the name in the protocol)
        """The answer of a signature to one request, of all outputs or those in `output_filter`."""

        def work(request):  # in the time that the server and the client allow
            if self.is_ending:
                raise ServingError("UNAVAILABLE", "The server is shutting down.")
            ticket = self._core.dispatcher.new_ticket(context.time_remaining())
            if not context.add_callback(ticket.cancel):  # the client is gone already
                ticket.cancel()
            return self._core.dispatcher.answer(self._predict, request, ticket=ticket)

        return answer(self._core, "Predict", work, request, context)

    def GetModelMetadata(self, request, context):  # noqa: N802
        """The signatures of a version; at once, however many requests are in work."""
        return answer(self._core, "GetModelMetadata", self._metadata, request, context)

    def _predict(self, request):
        core = self._core
        spec = request.model_spec
        with core.pool.lease(*asked_for(request)) as (number, servable):
            servable.signature(spec.signature_name).check_names(request.inputs)  # before memory
            inputs = {key: to_array(v, core.most_elements) for key, v in request.inputs.items()}
            write = functools.partial(response_of, spec, number)
            filter_ = request.output_filter
            return core.run(spec.name, servable, spec.signature_name, inputs, filter_, write)

    def _metadata(self, request):
        which = asked_for(request)
        if not request.metadata_field:
            raise ServingError(
                "INVALID_ARGUMENT",
                "GetModelMetadataRequest must specify at least one metadata_field",
            )
        for field in request.metadata_field:
            if field != SIGNATURE_DEF:
                raise ServingError("INVALID_ARGUMENT", f"Metadata field {field} is not supported")
        return self._core.metadata_message(*which)


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus. What is served is not for requests to change.

    Args:
        core: a `ServingCore`.
    """

    def __init__(self, core):
        self._core = core

    def GetModelStatus(self, request, context):  # noqa: N802
        """The state of the versions of a model; at once, since probes ask for it."""
        return answer(self._core, "GetModelStatus", self._status, request, context)

    def _status(self, request):
        return self._core.status_message(*asked_for(request))


def answer(core, api, work, request, context):
    """What `work` makes of the request; what it raises becomes the status of the call."""
    try:
        with core.recorded(request.model_spec.name, api, "GRPC"):
            return work(request)
    except ServingError as error:
        context.abort(CODES[error.code], error.message)


def response_of(spec, version, outputs):
    """Makes the `PredictResponse` with the outputs of a version."""
    response = predict_pb2.PredictResponse()
    response.model_spec.name = spec.name
    response.model_spec.signature_name = spec.signature_name or DEFAULT
    response.model_spec.version.value = version
    for key, value in outputs.items():
        fill_proto(response.outputs[key], value)
    return response


def asked_for(request):
    """Returns name, version and label of the model in a request; version or label is None."""
    if not request.HasField("model_spec"):
        raise ServingError("INVALID_ARGUMENT", "Missing ModelSpec")
    spec = request.model_spec
    choice = spec.WhichOneof("version_choice")
    version = spec.version.value if choice == "version" else None
    return spec.name, version, spec.version_label if choice == "version_label" else None
