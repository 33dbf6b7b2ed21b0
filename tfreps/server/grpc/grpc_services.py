"""PredictionService and ModelService of TensorFlow Serving, based on a ServingCore."""

import functools

import grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tfreps.server.models.servable import DEFAULT
from tfreps.server.requests.dispatcher import SMALL
from tfreps.server.requests.serving_core import SIGNATURE_DEF
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.tensor_protos import fill_proto, to_array

CODES = {code.name: code for code in grpc.StatusCode}


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """TensorFlow Serving's PredictionService, with the methods Predict and GetModelMetadata.

    The other methods return UNIMPLEMENTED.

    Args:
        core: `ServingCore`.

    Attributes:
        is_ending: bool. Whether Predict rejects new requests.
    """

    is_ending = False

    def __init__(self, core):
        self._core = core

    async def Predict(self, request, context):  # noqa: N802 (the name in the protocol)
        """Returns the answer of a signature, with all outputs or those in `output_filter`."""
        dispatcher = self._core.dispatcher

        async def work(request):  # within the time limits of the server and the client
            if self.is_ending:
                raise ServingError("UNAVAILABLE", "The server is shutting down.")
            ticket = dispatcher.new_ticket(context.time_remaining(), context.peer())
            is_large = request.ByteSize() > SMALL
            return await dispatcher.answer(
                self._predict, request, ticket=ticket, in_thread=is_large
            )

        return await answer(self._core, "Predict", work, request, context)

    async def GetModelMetadata(self, request, context):  # noqa: N802
        """Returns the signatures of a version, without waiting for other requests."""
        return await answer(self._core, "GetModelMetadata", self._metadata, request, context)

    def _predict(self, request):
        core = self._core
        spec = request.model_spec

        def start(number, servable):
            servable.signature(spec.signature_name).check_names(request.inputs)  # before `to_array`
            inputs = {
                key: to_array(value, core.most_elements, f"input '{key}'")
                for key, value in request.inputs.items()
            }
            write = functools.partial(response_of, spec, number)
            filter_ = request.output_filter
            return core.submit(spec.name, servable, spec.signature_name, inputs, filter_, write)

        return core.ask(asked_for(request), start)

    async def _metadata(self, request):
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
    """TensorFlow Serving's ModelService, with the method GetModelStatus.

    HandleReloadConfigRequest returns UNIMPLEMENTED, since no request may change the served models.

    Args:
        core: `ServingCore`.
    """

    def __init__(self, core):
        self._core = core

    async def GetModelStatus(self, request, context):  # noqa: N802
        """Returns the status of a model's versions, without waiting for other requests."""
        return await answer(self._core, "GetModelStatus", self._status, request, context)

    async def _status(self, request):
        return self._core.status_message(*asked_for(request))


async def answer(core, api, work, request, context):
    """Returns the result of `work(request)`; if it fails, ends the call with an error status."""
    try:
        with core.recorded(request.model_spec.name, api, "GRPC"):
            return await work(request)
    except ServingError as error:
        code, message = CODES[error.code], error.message
        error.with_traceback(None)  # whose frames hold the inputs
    await context.abort(code, message)


def response_of(spec, version, outputs):
    """Returns the `PredictResponse` with the outputs of a version."""
    response = predict_pb2.PredictResponse()
    response.model_spec.name = spec.name
    response.model_spec.signature_name = spec.signature_name or DEFAULT
    response.model_spec.version.value = version
    for key, value in outputs.items():
        fill_proto(response.outputs[key], value)
    return response


def asked_for(request):
    """Returns the requested `(name, version, label)`, where version, label or both are `None`."""
    if not request.HasField("model_spec"):
        raise ServingError("INVALID_ARGUMENT", "Missing ModelSpec")
    spec = request.model_spec
    choice = spec.WhichOneof("version_choice")
    version = spec.version.value if choice == "version" else None
    return spec.name, version, spec.version_label if choice == "version_label" else None
