"""GrpcFront: gRPC port with TensorFlow Serving's services and the health service."""

import asyncio
import contextlib
import pathlib
from operator import methodcaller

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
)

from tfreps.serving.server.grpc.grpc_services import GrpcServices
from tfreps.serving.server.requests.event_loop import on_loop
from tfreps.serving.server.requests.listening_socket import listening_socket
from tfreps.serving.server.requests.server_options import MEGABYTE

NAMES = ("PredictionService", "ModelService")
SERVICES = (*NAMES, *(f"tensorflow.serving.{name}" for name in NAMES))
LAST_CALL = 0.2  # first seconds of a shutdown, in which new calls fail with UNAVAILABLE
HEALTH_SECONDS = 1.0  # interval between checks for loaded and stuck models
# At most `CALLS_PER_REQUEST * max_requests + SPARE` calls are open at the same time. Further calls
# are rejected before their messages are received.
CALLS_PER_REQUEST = 4
SPARE = 16


class GrpcFront:
    """gRPC interface of a `ServingCore`, with TensorFlow Serving's services and the health service.

    The server listens on the port `port`, an attribute, and runs on `server_loop()`. An OSError is
    raised if the port cannot be opened or a TLS file cannot be read.
    """

    def __init__(self, core):
        self._core = core
        self._services = GrpcServices(core)
        self._health = health.aio.HealthServicer()
        self._watch = None
        on_loop(self._open(core.options))

    async def _open(self, options):
        largest = min(options.max_message_mb * MEGABYTE, 2**31 - 1)
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", largest),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),  # makes a port that is in use raise an error
            ],
            maximum_concurrent_rpcs=CALLS_PER_REQUEST * options.max_requests + SPARE,
        )
        self._server.add_generic_rpc_handlers(self._handlers())
        # gRPC would raise a less clear error for a port in use, and write to its log.
        listening_socket(options.host, options.grpc_port, "gRPC").close()
        host = f"[{options.host}]" if ":" in options.host else options.host
        address = f"{host}:{options.grpc_port}"
        cert, key = options.tls_cert, options.tls_key
        try:
            if cert:
                pair = pathlib.Path(key or cert).read_bytes(), pathlib.Path(cert).read_bytes()
                credentials = grpc.ssl_server_credentials([pair])
                self.port = self._server.add_secure_port(address, credentials)
            else:
                self.port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(
                f"Cannot listen on {address} for gRPC: {error}. Choose another `host` or "
                "`grpc_port`."
            ) from error

    def _handlers(self):
        services = self._services
        metadata = get_model_metadata_pb2.GetModelMetadataRequest
        prediction = {
            "Predict": (services.Predict, predict_pb2.PredictRequest),
            "GetModelMetadata": (services.GetModelMetadata, metadata),
        }
        status = get_model_status_pb2.GetModelStatusRequest
        models = {"GetModelStatus": (services.GetModelStatus, status)}
        probes = {
            "Check": (self._health.Check, health_pb2.HealthCheckRequest),
            "Watch": (self._health.Watch, health_pb2.HealthCheckRequest),
        }
        return [
            handler("tensorflow.serving.PredictionService", prediction),
            handler("tensorflow.serving.ModelService", models),
            handler("grpc.health.v1.Health", probes, streams={"Watch"}),
        ]

    def start(self):
        """Starts to respond to requests."""
        on_loop(self._start())

    async def _start(self):
        await self.report_health()  # sets the status before health probes can ask for it
        await self._server.start()
        self._watch = asyncio.create_task(self._watch_health())

    async def report_health(self):
        """Sets the status that the health service reports for the server, services and models."""
        core = self._core
        is_ready = core.ready
        for service in ("", *SERVICES):
            await self._health.set(service, serving(is_ready))
        for name, model in core.pool.models.items():
            is_serving = model.available and not core.is_stuck(name)
            await self._health.set(name, serving(is_serving))

    async def _watch_health(self):
        while True:
            await self.report_health()
            await asyncio.sleep(HEALTH_SECONDS)

    async def stop(self, timeout):
        """Rejects new requests, and waits up to `timeout` seconds for requests in progress."""
        if self._watch is None:  # gRPC closes the port of a server only if the server was started
            await self._server.start()
        else:
            self._watch.cancel()
        await self._health.enter_graceful_shutdown()
        # For a moment, new calls are rejected with UNAVAILABLE. Otherwise, gRPC would cancel them.
        self._services.is_ending = True
        await asyncio.sleep(min(LAST_CALL, timeout))
        await self._server.stop(timeout)


def handler(service, methods, streams=()):
    """Returns the generic handler of a gRPC service, whose name is `service`.

    `methods` is a dict from the name of each method to `(function, class of its request)`. Methods
    named in `streams` write several responses.
    """
    found = {}
    for name, (function, message) in methods.items():
        make = grpc.unary_unary_rpc_method_handler
        if name in streams:
            make = grpc.unary_stream_rpc_method_handler
        serialized = methodcaller("SerializeToString")
        found[name] = make(reading(function, message), response_serializer=serialized)
    return grpc.method_handlers_generic_handler(service, found)


def reading(function, message):
    """Returns a coroutine function that parses bytes as `message` and calls `function` with it.

    If grpc.aio parsed the bytes, it would log a malformed message with a traceback, and respond
    with UNKNOWN.
    """

    async def call(data, context):
        request = None
        with contextlib.suppress(DecodeError):
            request = message.FromString(data)
        if request is None:
            details = "Exception deserializing request!"  # the message that gRPC itself uses
            await context.abort(grpc.StatusCode.INTERNAL, details)
        return await function(request, context)

    return call


def serving(yes):
    status = health_pb2.HealthCheckResponse
    return status.SERVING if yes else status.NOT_SERVING
