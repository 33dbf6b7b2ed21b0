"""GrpcClient: client for the gRPC interface of this server or of TensorFlow Serving."""

import os
import pathlib
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tfreps.serving.server.model_client import TIMEOUT, ModelClient, VersionStatus


class GrpcClient(ModelClient):
    """Client for the gRPC interface of a server, based on TensorFlow Serving's stubs.

    Args:
        address: str. Host and port of the server, such as `"127.0.0.1:8500"`.
        timeout: float. Seconds to wait for a response. Defaults to 60.0.
        ca_file: str, path-like or None. PEM file with the certificate to trust. If `None`, TLS is
            not used. Defaults to `None`.

    Raises:
        OSError: If the file `ca_file` cannot be read.

    Example:
    >>> client = GrpcClient("127.0.0.1:8500")
    >>> client.close()
    """

    def __init__(
        self,
        address: str,
        timeout: float = TIMEOUT,
        ca_file: str | os.PathLike[str] | None = None,
    ):
        self._address = address
        self._timeout = timeout
        options = [("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0)]
        if ca_file:
            trusted = grpc.ssl_channel_credentials(pathlib.Path(ca_file).read_bytes())
            self._channel = grpc.secure_channel(address, trusted, options)
        else:
            self._channel = grpc.insecure_channel(address, options)
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._models = model_service_pb2_grpc.ModelServiceStub(self._channel)
        self._inputs: dict[tuple, str] = {}

    def close(self) -> None:
        """Closes the connection to the server."""
        self._channel.close()

    def _predict(self, which, texts, signature):
        key = (*which, signature)
        if key not in self._inputs:
            self._inputs[key] = self._only_input(which, signature)
        request = addressed(predict_pb2.PredictRequest(), *which)
        request.model_spec.signature_name = signature
        request.inputs[self._inputs[key]].CopyFrom(tf.make_tensor_proto(texts, tf.string))
        outputs = self._call(self._stub.Predict, request).outputs
        arrays = {name: tf.make_ndarray(value) for name, value in sorted(outputs.items())}
        return [
            {name: as_python(value[row]) for name, value in arrays.items()}
            for row in range(len(texts))
        ]

    def _status(self, which):
        request = addressed(get_model_status_pb2.GetModelStatusRequest(), *which)
        found = self._call(self._models.GetModelStatus, request).model_version_status
        return [
            VersionStatus(entry.version, entry.State.Name(entry.state), entry.status.error_message)
            for entry in found
        ]

    def _only_input(self, which, signature):
        """Returns the name of the only input of a signature of the model `which`.

        Raises a ValueError if the signature does not exist or does not have text as its only input.
        """
        request = addressed(get_model_metadata_pb2.GetModelMetadataRequest(), *which)
        request.metadata_field.append("signature_def")
        packed = self._call(self._stub.GetModelMetadata, request).metadata["signature_def"]
        found = get_model_metadata_pb2.SignatureDefMap()
        packed.Unpack(found)
        signature = signature or "serving_default"
        if signature not in found.signature_def:
            known = ", ".join(sorted(n for n in found.signature_def if not n.startswith("__")))
            raise ValueError(
                f"`signature` must be one of the signatures of the model, {known}; got "
                f"{signature!r}."
            )
        inputs = found.signature_def[signature].inputs
        if [value.dtype for value in inputs.values()] != [tf.string.as_datatype_enum]:
            raise ValueError(
                f"`signature` must have a single input of type string; {signature!r} has the "
                f"inputs {', '.join(sorted(inputs)) or 'none'}. Choose a signature that reads "
                "text."
            )
        return next(iter(inputs))

    def _call(self, method, request):
        try:
            return method(request, timeout=self._timeout)
        except grpc.RpcError as error:
            code = error.code()
            details = error.details()
            if code == grpc.StatusCode.UNAVAILABLE and "connect" in details:
                raise ValueError(
                    f"No server responds at {self._address}: {details}. Start one with "
                    "`tfreps serve DIR`, or check the address."
                ) from None
            raise ValueError(f"The server returned {code.name}: {details}") from None


def addressed(request, model, version, label):
    """Sets the name of the model in a request and, if given, the version or the label.

    Returns the request.
    """
    request.model_spec.name = model
    if version is not None:
        request.model_spec.version.value = version
    elif label:
        request.model_spec.version_label = label
    return request


def as_python(value: Any) -> Any:
    """Converts an array to nested lists of numbers or str, or a single value to a number or str."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    return [as_python(part) for part in value] if isinstance(value, list) else value
