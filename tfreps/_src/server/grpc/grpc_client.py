"""GrpcClient: client for the gRPC interface of this server or of TensorFlow Serving."""

import pathlib

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

SECONDS = 60.0


class GrpcClient:
    """Client for the gRPC interface of a server, based on TensorFlow Serving's stubs.

    Args:
        address: str. Host and port of the server, such as `"127.0.0.1:8500"`.
        seconds: float. Seconds to wait for an answer. Defaults to 60.0.
        ca: str or path. PEM file with the certificate to trust. If `None` (the default), TLS is not
            used.

    Raises:
        OSError: If the file `ca` cannot be read.

    Example:
    >>> client = GrpcClient("127.0.0.1:8500")
    >>> client.close()
    """

    def __init__(self, address, seconds=SECONDS, ca=None):
        self._address = address
        self._seconds = seconds
        options = [("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0)]
        if ca:
            trusted = grpc.ssl_channel_credentials(pathlib.Path(ca).read_bytes())
            self._channel = grpc.secure_channel(address, trusted, options)
        else:
            self._channel = grpc.insecure_channel(address, options)
        self._predict = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._models = model_service_pb2_grpc.ModelServiceStub(self._channel)
        self._inputs = {}

    def ask(self, model, texts, signature="", version=None, label=None):
        """Sends texts to a model and returns its answers.

        Args:
            model: str. The name of the model.
            texts: List of str. The texts to send.
            signature: str. The name of a signature whose only input is text. If empty, the default
                signature is used.
            version: int. The version of the model. If `None`, it is selected by `label`.
            label: str. The label of a version. If `version` and `label` are `None`, the newest
                version is used.

        Returns:
            A list with one dict per text, which maps output names to numbers, strings or nested
            lists.

        Raises:
            ValueError: If the server does not answer or returns an error, or if the signature does
                not exist or does not have text as its only input.
        """
        which = model, version, label
        key = (*which, signature)
        if key not in self._inputs:
            self._inputs[key] = self._only_input(which, signature)
        request = asking(predict_pb2.PredictRequest(), *which)
        request.model_spec.signature_name = signature
        request.inputs[self._inputs[key]].CopyFrom(tf.make_tensor_proto(texts, tf.string))
        outputs = self._call(self._predict.Predict, request).outputs
        arrays = {name: tf.make_ndarray(value) for name, value in sorted(outputs.items())}
        return [
            {name: as_python(value[row]) for name, value in arrays.items()}
            for row in range(len(texts))
        ]

    def status(self, model, version=None, label=None):
        """Returns the status of the versions of a model.

        Args:
            model: str. The name of the model.
            version: int. The version to report. If `None`, all versions are reported.
            label: str. The label of a version. The server may ignore it and report all versions.
                Defaults to `None`.

        Returns:
            A list of tuples `(version, state, error_message)`. `version` is an int. `state` is a
            str such as `"AVAILABLE"`. `error_message` is a str, empty if there is no error.

        Raises:
            ValueError: If the server does not answer or returns an error.
        """
        request = asking(get_model_status_pb2.GetModelStatusRequest(), model, version, label)
        found = self._call(self._models.GetModelStatus, request).model_version_status
        return [
            (entry.version, entry.State.Name(entry.state), entry.status.error_message)
            for entry in found
        ]

    def close(self):
        """Closes the connection."""
        self._channel.close()

    def _only_input(self, which, signature):
        """Returns the name of the only input of a signature."""
        request = asking(get_model_metadata_pb2.GetModelMetadataRequest(), *which)
        request.metadata_field.append("signature_def")
        packed = self._call(self._predict.GetModelMetadata, request).metadata["signature_def"]
        found = get_model_metadata_pb2.SignatureDefMap()
        packed.Unpack(found)
        signature = signature or "serving_default"
        if signature not in found.signature_def:
            known = ", ".join(sorted(n for n in found.signature_def if not n.startswith("__")))
            raise ValueError(
                f"The model has no signature {signature!r}. Choose one of its signatures: {known}."
            )
        inputs = found.signature_def[signature].inputs
        if [value.dtype for value in inputs.values()] != [tf.string.as_datatype_enum]:
            raise ValueError(
                f"`signature` must have a single input of type string; {signature!r} has "
                f"the inputs {', '.join(sorted(inputs)) or 'none'}."
            )
        return next(iter(inputs))

    def _call(self, method, request):
        try:
            return method(request, timeout=self._seconds)
        except grpc.RpcError as error:
            code = error.code()
            details = error.details()
            if code == grpc.StatusCode.UNAVAILABLE and "connect" in details:
                raise ValueError(
                    f"No server answers at {self._address}: {details}. Start one with "
                    "`tfreps serve DIR`."
                ) from None
            raise ValueError(f"The server returned {code.name}: {details}") from None


def asking(request, model, version, label):
    """Sets the model of a request, and its version or label if given; returns the request."""
    request.model_spec.name = model
    if version is not None:
        request.model_spec.version.value = version
    elif label:
        request.model_spec.version_label = label
    return request


def as_python(value):
    """Converts a value to nested lists, numbers and str, as in the answers of `RestClient`."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    return [as_python(part) for part in value] if isinstance(value, list) else value
