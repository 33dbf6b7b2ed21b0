"""GrpcFront: gRPC port with TensorFlow Serving's services and the health service."""

import concurrent.futures
import logging
import threading
import time

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from tensorflow_serving.apis import model_service_pb2_grpc, prediction_service_pb2_grpc

from tfreps.server.grpc.grpc_services import ModelService, PredictionService

NAMES = ("PredictionService", "ModelService")
SERVICES = (*NAMES, *(f"tensorflow.serving.{name}" for name in NAMES))
LAST_CALL = 0.2  # seconds during shutdown in which calls fail with UNAVAILABLE, not CANCELLED
HEALTH_SECONDS = 1.0  # between checks for stuck models
SPARE = 16  # additional threads that reject requests and report the health


class GrpcFront:
    """gRPC interface of a server, with TensorFlow Serving's services and the health service.

    Args:
        core: `ServingCore`.
        host: str. The address to listen on.
        port: int. The port to listen on. 0 selects a free port.
        max_message_bytes: int. Maximum size of a request in bytes. Larger ones are rejected with
            RESOURCE_EXHAUSTED. Defaults to 2**31 - 1.
        credentials: `grpc.ServerCredentials`. If `None` (the default), TLS is not used.

    Attributes:
        port: int. The port that the server listens on.

    Raises:
        OSError: If the port cannot be opened.
    """

    def __init__(self, core, host, port, max_message_bytes=2**31 - 1, credentials=None):
        self._core = core
        logging.getLogger("grpc._common").addFilter(is_wanted)
        threads = concurrent.futures.ThreadPoolExecutor(
            core.dispatcher.max_queue + SPARE, "tfreps-grpc"
        )
        self._server = grpc.server(
            threads,
            options=[
                ("grpc.max_receive_message_length", max_message_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),  # a port in use raises an error
            ],
        )
        self._prediction = PredictionService(core)
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            self._prediction, self._server
        )
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(ModelService(core), self._server)
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if credentials is None:
                self.port = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise OSError(f"Cannot listen on {address} for gRPC: {error}") from error
        if not self.port:
            raise OSError(f"Cannot listen on {address} for gRPC. The port may be in use.")
        self._stopped = threading.Event()
        core.pool.watchers.append(self.tell_health)

    def start(self):
        """Starts answering requests."""
        self.tell_health()
        self._server.start()
        threading.Thread(target=self._watch_health, name="tfreps-health", daemon=True).start()

    def tell_health(self):
        """Reports to the health service whether the server, services and models are serving."""
        core = self._core
        for service in ("", *SERVICES):
            self._health.set(service, serving(core.ready))
        for name, model in core.pool.models.items():
            self._health.set(name, serving(model.available and not core.is_stuck(name)))

    def _watch_health(self):
        while not self._stopped.wait(HEALTH_SECONDS):
            self.tell_health()

    def stop(self, seconds):
        """Rejects new requests, and waits up to `seconds` seconds for requests in progress."""
        self._stopped.set()
        self._health.enter_graceful_shutdown()
        self._prediction.is_ending = True  # grpc would cancel calls that are about to arrive
        time.sleep(min(LAST_CALL, seconds))
        self._server.stop(seconds).wait()


def is_wanted(record):
    """Returns False for grpcio's log record of a malformed message; the sender gets an error."""
    return record.getMessage() != "Exception deserializing message!"


def serving(yes):
    status = health_pb2.HealthCheckResponse
    return status.SERVING if yes else status.NOT_SERVING
