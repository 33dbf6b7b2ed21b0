"""GrpcFront: gRPC port with TensorFlow Serving's services and the health service."""

import asyncio
import contextlib

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
)

from tfreps.server.grpc.grpc_services import ModelService, PredictionService
from tfreps.server.requests.event_loop import on_loop

NAMES = ("PredictionService", "ModelService")
SERVICES = (*NAMES, *(f"tensorflow.serving.{name}" for name in NAMES))
LAST_CALL = 0.2  # seconds during shutdown in which calls fail with UNAVAILABLE, not CANCELLED
HEALTH_SECONDS = 1.0  # between checks for stuck models
# Calls at the same time, per request in progress. Messages of further calls are not received.
CALLS_PER_PLACE = 4
SPARE = 16  # additional calls


class GrpcFront:
    """gRPC interface of a server, with TensorFlow Serving's services and the health service.

    Args:
        core: `ServingCore`.
        host: str. The address to listen on.
        port: int. The port to listen on. 0 selects a free port.
        max_message_bytes: int. Maximum size of a request in bytes. Larger ones are rejected with
            RESOURCE_EXHAUSTED. Defaults to 2**31 - 1.
        credentials: `grpc.ServerCredentials`. If `None` (the default), TLS is not used.
        share_port: bool. Whether other processes may listen on the same port. Defaults to `False`.

    Attributes:
        port: int. The port that the server listens on.

    Raises:
        OSError: If the port cannot be opened.
    """

    def __init__(
        self,
        core,
        host,
        port,
        max_message_bytes=2**31 - 1,
        credentials=None,
        share_port=False,
    ):
        self._core = core
        self._prediction = PredictionService(core)
        self._health = health.aio.HealthServicer()
        self._watch = None
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        options = [
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", int(share_port)),  # if 0, a port in use raises an error
        ]
        on_loop(self._open(address, options, credentials))

    async def _open(self, address, options, credentials):
        most = CALLS_PER_PLACE * self._core.dispatcher.max_queue + SPARE
        self._server = grpc.aio.server(options=options, maximum_concurrent_rpcs=most)
        self._server.add_generic_rpc_handlers(self._handlers())
        try:
            if credentials is None:
                self.port = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise OSError(f"Cannot listen on {address} for gRPC: {error}") from error
        if not self.port:
            raise OSError(f"Cannot listen on {address} for gRPC. The port may be in use.")

    def _handlers(self):
        prediction = {
            "Predict": (self._prediction.Predict, predict_pb2.PredictRequest),
            "GetModelMetadata": (
                self._prediction.GetModelMetadata,
                get_model_metadata_pb2.GetModelMetadataRequest,
            ),
        }
        status = ModelService(self._core).GetModelStatus
        models = {"GetModelStatus": (status, get_model_status_pb2.GetModelStatusRequest)}
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
        """Starts answering requests."""
        on_loop(self._start())
        self._core.pool.watchers.append(lambda: on_loop(self.tell_health()))

    async def _start(self):
        await self.tell_health()
        await self._server.start()
        self._watch = asyncio.create_task(self._watch_health())

    async def tell_health(self):
        """Reports to the health service whether the server, services and models are serving."""
        core = self._core
        for service in ("", *SERVICES):
            await self._health.set(service, serving(core.ready))
        for name, model in core.pool.models.items():
            is_serving = model.available and not core.is_stuck(name)
            await self._health.set(name, serving(is_serving))

    async def _watch_health(self):
        while True:
            await asyncio.sleep(HEALTH_SECONDS)
            await self.tell_health()

    async def stop(self, seconds):
        """Rejects new requests, and waits up to `seconds` seconds for requests in progress."""
        if self._watch is None:  # only a server that was started closes its port
            await self._server.start()
        else:
            self._watch.cancel()
        await self._health.enter_graceful_shutdown()
        self._prediction.is_ending = True  # grpc would cancel calls that are about to arrive
        await asyncio.sleep(min(LAST_CALL, seconds))
        await self._server.stop(seconds)


def handler(service, methods, streams=()):
    """Returns the generic handler of a service.

    Args:
        service: str. The full name of the service.
        methods: dict from names of methods to `(function, class of its request)`.
        streams: Set of str. Names of the methods that write several answers. Defaults to `()`.
    """
    found = {}
    for name, (function, message) in methods.items():
        make = grpc.unary_unary_rpc_method_handler
        if name in streams:
            make = grpc.unary_stream_rpc_method_handler
        found[name] = make(reading(function, message), response_serializer=serialized)
    return grpc.method_handlers_generic_handler(service, found)


def reading(function, message):
    """Wraps a method so that it takes bytes.

    grpc.aio would log a malformed message with a traceback, and answer with UNKNOWN.
    """

    async def call(data, context):
        request = None
        with contextlib.suppress(DecodeError):
            request = message.FromString(data)
        if request is None:
            details = "Exception deserializing request!"  # as in grpc
            await context.abort(grpc.StatusCode.INTERNAL, details)
        return await function(request, context)

    return call


def serialized(message):
    return message.SerializeToString()


def serving(yes):
    status = health_pb2.HealthCheckResponse
    return status.SERVING if yes else status.NOT_SERVING
