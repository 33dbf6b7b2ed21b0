"""GrpcClient: client for the gRPC interface of this server or of TensorFlow Serving."""

import os
import pathlib
from collections.abc import Sequence
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

from tfreps.serving.server.requests.version_status import VersionStatus

TIMEOUT = 60.0


class GrpcClient:
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
        self._predict = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._models = model_service_pb2_grpc.ModelServiceStub(self._channel)
        self._inputs: dict[tuple, str] = {}

    def predict(
        self,
        model: str,
        texts: Sequence[str],
        signature: str = "",
        version: int | None = None,
        label: str | None = None,
    ) -> list[dict[str, Any]]:
        """Sends texts to a model and returns its outputs.

        Args:
            model: str. The name of the model.
            texts: sequence of str. The texts to send.
            signature: str. The name of a signature whose only input is text. If empty, the default
                signature is used. Defaults to `""`.
            version: int or None. The version of the model. If `None`, it is selected by `label`.
                Defaults to `None`.
            label: str or None. The label of a version. If `version` and `label` are both `None`,
                the newest version is used. Defaults to `None`.

        Returns:
            list of dicts, one per text. Each dict maps output names to numbers, strings or nested
            lists.

        Raises:
            ValueError: If the server does not respond or returns an error, or if the signature does
                not exist or does not have text as its only input.
        """
        which = model, version, label
        key = (*which, signature)
        if key not in self._inputs:
            self._inputs[key] = self._only_input(which, signature)
        request = addressed(predict_pb2.PredictRequest(), *which)
        request.model_spec.signature_name = signature
        request.inputs[self._inputs[key]].CopyFrom(tf.make_tensor_proto(texts, tf.string))
        outputs = self._call(self._predict.Predict, request).outputs
        arrays = {name: tf.make_ndarray(value) for name, value in sorted(outputs.items())}
        return [
            {name: as_python(value[row]) for name, value in arrays.items()}
            for row in range(len(texts))
        ]

    def status(
        self, model: str, version: int | None = None, label: str | None = None
    ) -> list[VersionStatus]:
        """Returns the status of the versions of a model.

        Args:
            model: str. The name of the model.
            version: int or None. The version to report. If `version` and `label` are both `None`,
                all versions are reported. Defaults to `None`.
            label: str or None. The label of the version to report if `version` is `None`. The
                server may ignore the label and report all versions. Defaults to `None`.

        Returns:
            list of named tuples `(version, state, error)`. `version` is an int. `state` is a str
            such as `"AVAILABLE"`. `error` is a str, empty if there is no error.

        Raises:
            ValueError: If the server does not respond or returns an error.
        """
        request = addressed(get_model_status_pb2.GetModelStatusRequest(), model, version, label)
        found = self._call(self._models.GetModelStatus, request).model_version_status
        return [
            VersionStatus(entry.version, entry.State.Name(entry.state), entry.status.error_message)
            for entry in found
        ]

    def close(self) -> None:
        """Closes the connection."""
        self._channel.close()

    def _only_input(self, which, signature):
        """Returns the name of the only input of a signature of the model `which`.

        Raises a ValueError if the signature does not exist or does not have text as its only input.
        """
        request = addressed(get_model_metadata_pb2.GetModelMetadataRequest(), *which)
        request.metadata_field.append("signature_def")
        packed = self._call(self._predict.GetModelMetadata, request).metadata["signature_def"]
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
