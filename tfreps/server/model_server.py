"""ModelServer: serves models on a gRPC and a REST port."""

import dataclasses
import pathlib
import time

import grpc

from tfreps.server.grpc.grpc_front import GrpcFront
from tfreps.server.models.batching import BatchOptions
from tfreps.server.models.model_pool import ModelPool
from tfreps.server.models.servable import Servable
from tfreps.server.requests.dispatcher import Dispatcher
from tfreps.server.requests.request_limits import RequestLimits
from tfreps.server.requests.serving_core import ServingCore
from tfreps.server.rest.request_guard import RequestGuard
from tfreps.server.rest.rest_app import RestApp
from tfreps.server.rest.rest_front import RestFront

MEGABYTE = 2**20


@dataclasses.dataclass
class ServerOptions:
    """Addresses and limits of a server.

    Args:
        host: address to listen on; the default is reached from this machine only.
        rest_port, grpc_port: 0 for a free one, None for none.
        poll_seconds: between two looks for new versions; 0 for one look at the start.
        batching: how requests are merged.
        max_queue: requests in work at the same time; more get UNAVAILABLE, 503.
        timeout_seconds: that a request may take, then DEADLINE_EXCEEDED, 504.
        header_seconds: in which the head of an HTTP request has to arrive.
        max_message_mb: size of a gRPC request, at most TensorFlow Serving's 2,047.
        max_body_mb: size of a REST request, then 413.
        max_elements: numbers or strings in an input.
        max_text_mb: texts of a request, each counted as long as the longest.
        max_tokens: tokens of a request's texts, each counted as long as the longest.
        max_text_tokens: tokens of one text.
        max_answer_mb: size of an answer.
        tls_cert, tls_key: PEM files; both interfaces use them.
        allowed_hosts, allowed_origins: `names` and `origins` of the `RequestGuard`.
        allow_file_ops: whether models may use files, the network and Python (`check_operations`).
    """

    host: str = "127.0.0.1"
    rest_port: int | None = 8501
    grpc_port: int | None = 8500
    poll_seconds: float = 1.0
    batching: BatchOptions = dataclasses.field(default_factory=BatchOptions)
    max_queue: int = 256
    timeout_seconds: float = 60.0
    header_seconds: float = 10.0
    max_message_mb: int = 2_047
    max_body_mb: int = 128
    max_elements: int = 2**24
    max_text_mb: int = 16
    max_tokens: int = 2**14
    max_text_tokens: int = 2**12
    max_answer_mb: int = 128
    tls_cert: str | None = None
    tls_key: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    allow_file_ops: bool = False


class ModelServer:
    """Loads models and answers requests until it is stopped.

    Args:
        configs: list of `ModelConfig`.
        options: a `ServerOptions`.
        make_routes: function from the `ServingCore` to more routes of Starlette for the REST port,
            or None.

    Attributes:
        core: the `ServingCore`.
        rest_port, grpc_port: the ports it listens on, or None.

    Raises:
        ValueError: nothing can be served of a model.
        OSError: a port cannot be had, or a file is missing.
    """

    def __init__(self, configs, options=None, make_routes=None):
        options = self._options = options or ServerOptions()

        def load(folder):
            return Servable(
                folder,
                options.batching,
                most_elements=options.max_elements,
                limits=RequestLimits(
                    options.max_tokens,
                    options.max_text_tokens,
                    options.max_text_mb * MEGABYTE,
                    options.max_answer_mb * MEGABYTE,
                ),
                allow_file_ops=options.allow_file_ops,
            )

        self._rest = self._grpc = None
        dispatcher = Dispatcher(options.max_queue, options.timeout_seconds)
        self.core = ServingCore(ModelPool(configs, load), dispatcher, options.max_elements)
        # The ports first, so that a port in use is an error before minutes of loading.
        if options.grpc_port is not None:
            self._grpc = GrpcFront(
                self.core,
                options.host,
                options.grpc_port,
                min(options.max_message_mb * MEGABYTE, 2**31 - 1),
                grpc_credentials(options.tls_cert, options.tls_key),
            )
        if options.rest_port is not None:
            routes = make_routes(self.core) if make_routes else ()
            app = RestApp(self.core, options.max_body_mb * MEGABYTE, routes).asgi
            self._rest = RestFront(
                RequestGuard(app, options.host, options.allowed_hosts, options.allowed_origins),
                options.host,
                options.rest_port,
                options.header_seconds,
                options.tls_cert,
                options.tls_key,
            )
        self.rest_port = self._rest and self._rest.port
        self.grpc_port = self._grpc and self._grpc.port

    def start(self):
        """Loads the models, then begins to answer.

        Raises:
            ValueError: a model has no version that can be served.
        """
        pool = self.core.pool
        pool.refresh(starting=True)
        for model in pool.models.values():
            if not model.available:
                self.stop(0)
                raise ValueError(why_nothing(model))
        for front in filter(None, (self._grpc, self._rest)):
            front.start()
        if self._options.poll_seconds:
            pool.start(self._options.poll_seconds)

    def stop(self, seconds=30.0):
        """Takes no new requests, and returns when those accepted are answered.

        Args:
            seconds: that they have for it.

        Returns:
            whether all were.
        """
        until = time.monotonic() + seconds
        self.core.pool.ask_to_stop()
        if self._rest:
            self._rest.ask_to_stop(seconds)
        for front in filter(None, (self._grpc, self._rest)):
            front.stop(seconds)
        self.core.pool.stop(until - time.monotonic())  # a version may be loading: not waited for
        whole = self.core.dispatcher.drain(0)
        self.core.dispatcher.close()
        return whole

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()


def why_nothing(model):
    """Says what is wrong with a model that has no version to serve."""
    try:
        errors = [str(error) for _, _, error in model.status() if error]
    except Exception:
        errors = []
    if errors:
        return f"{model.name}: no version can be served. {errors[0]}"
    return (
        f"{model.config.base_path} holds no version of a model to serve: expected folders named 1, "
        "2 ... with a SavedModel each, as `tfreps export` writes them."
    )


def grpc_credentials(cert, key):
    """Makes credentials from PEM files; None if there are none."""
    if not cert and not key:
        return None
    pair = pathlib.Path(key or cert).read_bytes(), pathlib.Path(cert or key).read_bytes()
    return grpc.ssl_server_credentials([pair])
