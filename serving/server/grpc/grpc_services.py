"""GrpcServices: the methods of TensorFlow Serving's gRPC services, based on a ServingCore."""

import functools

import grpc
from tensorflow_serving.apis import predict_pb2

from tfreps.serving.server.models.servable import DEFAULT
from tfreps.serving.server.requests.serving_core import SIGNATURE_DEF
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.requests.tensor_protos import fill_proto, to_arrays


def handled(method):
    """Decorates a method of `GrpcServices`: returns a coroutine function that records its requests.

    If the method raises an error, the client receives the status code and message of this error.
    """

    @functools.wraps(method)
    async def call(self, request, context):
        try:
            with self.core.recorded(request.model_spec.name, method.__name__, "GRPC"):
                return await method(self, request, context)
        except ServingError as error:
            code, message = grpc.StatusCode[error.code], error.message
            # The frames of the traceback would keep the inputs in memory.
            error.with_traceback(None)
        await context.abort(code, message)

    return call


class GrpcServices:
    """Methods Predict, GetModelMetadata and GetModelStatus of TensorFlow Serving's services.

    If `is_ending` is `True`, Predict rejects new requests. `core` is a `ServingCore`.
    """

    def __init__(self, core):
        self.core = core
        self.is_ending = False

    @handled
    async def Predict(self, request, context):  # noqa: N802 (the name in the protocol)
        """Returns a `PredictResponse` with the outputs of a model for a `PredictRequest`.

        The response contains the outputs in `output_filter`, or all outputs if this field is empty.
        """
        if self.is_ending:
            raise ServingError("UNAVAILABLE", "The server is shutting down.")
        core = self.core
        call = core.call(context.time_remaining())
        read = functools.partial(self._read, request)
        return await core.respond(call, core.predict, asked_for(request), request.ByteSize(), read)

    def _read(self, request, call, servable, number):
        """Converts the inputs of a `PredictRequest` to arrays, and prepares the call."""
        signature = servable.signature(request.model_spec.signature_name)
        # The names are checked before the inputs take memory.
        signature.check_input_names(request.inputs)
        inputs = to_arrays(request.inputs, self.core.options.max_elements)
        write = functools.partial(response_of, request.model_spec, number)
        servable.prepare(call, signature, inputs, request.output_filter, write)

    @handled
    async def GetModelMetadata(self, request, context):  # noqa: N802
        """Returns a `GetModelMetadataResponse` with the signatures of a version of a model.

        The request does not count as one of the `max_requests` requests in progress.
        """
        which = asked_for(request)
        if not request.metadata_field:
            raise ServingError(
                "INVALID_ARGUMENT",
                "GetModelMetadataRequest must specify at least one metadata_field. Add "
                f"{SIGNATURE_DEF}.",
            )
        for field in request.metadata_field:
            if field != SIGNATURE_DEF:
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"Metadata field {field} is not supported. Request only {SIGNATURE_DEF}.",
                )
        return self.core.metadata_message(*which)

    @handled
    async def GetModelStatus(self, request, context):  # noqa: N802
        """Returns a `GetModelStatusResponse` with the status of the versions of a model.

        The request does not count as one of the `max_requests` requests in progress.
        """
        return self.core.status_message(*asked_for(request))


def response_of(spec, version, outputs):
    """Returns a `PredictResponse` with `outputs`, a dict of arrays.

    `spec` is the `ModelSpec` of the request, and `version` is the number of the version that
    computed the outputs.
    """
    response = predict_pb2.PredictResponse()
    response.model_spec.name = spec.name
    response.model_spec.signature_name = spec.signature_name or DEFAULT
    response.model_spec.version.value = version
    for key, value in outputs.items():
        fill_proto(response.outputs[key], value)
    return response


def asked_for(request):
    """Returns a tuple of the name of the requested model, and its version and label.

    The version, the label or both are `None`.
    """
    if not request.HasField("model_spec"):
        raise ServingError(
            "INVALID_ARGUMENT",
            "Missing ModelSpec. Set `model_spec.name` of the request to the name of the model.",
        )
    spec = request.model_spec
    choice = spec.WhichOneof("version_choice")
    version = spec.version.value if choice == "version" else None
    return spec.name, version, spec.version_label if choice == "version_label" else None
