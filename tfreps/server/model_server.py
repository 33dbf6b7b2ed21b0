"""ModelServer: serves models on a gRPC and a REST port."""

import asyncio
import dataclasses
import pathlib
import time

import grpc

from tfreps.server.grpc.grpc_front import GrpcFront
from tfreps.server.models.batching import BatchOptions
from tfreps.server.models.model_pool import ModelPool
from tfreps.server.models.servable import Servable
from tfreps.server.requests.dispatcher import Dispatcher
from tfreps.server.requests.event_loop import on_loop
from tfreps.server.requests.request_limits import RequestLimits
from tfreps.server.requests.serving_core import ServingCore
from tfreps.server.rest.request_guard import RequestGuard
from tfreps.server.rest.rest_app import RestApp
from tfreps.server.rest.rest_front import RestFront

MEGABYTE = 2**20


@dataclasses.dataclass
class ServerOptions:
    """Options of a `ModelServer`: addresses, limits and permissions.

    Args:
        host: str. The address to listen on. Defaults to `"127.0.0.1"`, so that only connections
            from this machine are accepted.
        rest_port: int. The port of the REST interface. 0 selects a free port. If `None`, there is
            no REST interface. Defaults to 8501.
        grpc_port: int. The port of the gRPC interface. 0 selects a free port. If `None`, there is
            no gRPC interface. Defaults to 8500.
        poll_seconds: float. Seconds between searches for new versions. If 0, versions are only
            searched for at startup. Defaults to 1.0.
        batching: `BatchOptions` for merging requests. Defaults to `BatchOptions()`.
        max_queue: int. Maximum number of requests in progress. Further requests are rejected with
            UNAVAILABLE (503). Defaults to 256.
        timeout_seconds: float. Time limit of a request in seconds, after which it fails with
            DEADLINE_EXCEEDED (504). Defaults to 60.0.
        header_seconds: float. Time limit in seconds for the headers of an HTTP request to arrive,
            after which the connection is closed. Defaults to 10.0.
        max_message_mb: int. Maximum size of a gRPC request in MiB. Larger requests are rejected
            with RESOURCE_EXHAUSTED. Values above 2,047 set the limit to 2**31 - 1 bytes. Defaults
            to 2,047.
        max_body_mb: int. Maximum size of the body of a REST request in MiB. Larger bodies are
            rejected with HTTP status 413. Defaults to 16.
        max_elements: int. Maximum number of elements of an input array, and of values in the body
            of a REST request, where an array or object counts as 16. Defaults to 2**20.
        max_text_mb: int. Maximum total size in MiB of the texts of an input, after they are padded
            to the length of the longest and to at least 64 bytes. Defaults to 16.
        max_tokens: int. Maximum number of tokens in a request, after all texts are padded to the
            length of the longest. Defaults to 2**14.
        max_text_tokens: int. Maximum number of tokens in a single text. Defaults to 2**12.
        max_answer_mb: int. Maximum size of an answer in MiB. Defaults to 128.
        tls_cert: str. Path of a PEM file with the TLS certificate of both interfaces. If `None`,
            TLS is not used; `tls_key` must then be `None`, too.
        tls_key: str. Path of a PEM file with the private key of the certificate. If `None`, the key
            is read from the file `tls_cert`.
        allowed_hosts: Tuple of str. Additional names that the `Host` header may contain; see
            `names` of `RequestGuard`. Defaults to `()`.
        allowed_origins: Tuple of str. Web sites whose pages may send requests; see `origins` of
            `RequestGuard`. Defaults to `()`.
        allow_file_ops: bool. Whether to load models that use files, the network or Python; see
            `check_operations`. Defaults to `False`.
        share_ports: bool. Whether other processes of the same user may listen on the same ports
            (SO_REUSEPORT), so that the system distributes connections among them. Defaults to
            `False`.

    Raises:
        ValueError: If `tls_key` is given without `tls_cert`.
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
    max_body_mb: int = 16
    max_elements: int = 2**20
    max_text_mb: int = 16
    max_tokens: int = 2**14
    max_text_tokens: int = 2**12
    max_answer_mb: int = 128
    tls_cert: str | None = None
    tls_key: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    allow_file_ops: bool = False
    share_ports: bool = False

    def __post_init__(self):
        if self.tls_key is not None and self.tls_cert is None:
            raise ValueError(
                "`tls_key` requires `tls_cert`, the path of the certificate. Give both."
            )


class ModelServer:
    """Server that loads models and answers requests over gRPC and REST.

    If it is used as a context manager, the server starts when the block is entered, and stops when
    the block is left.

    Args:
        configs: List of `ModelConfig`.
        options: `ServerOptions`. If `None`, the default options are used.
        make_routes: Function that takes the `ServingCore` and returns additional Starlette routes
            for the REST port. If `None`, there are no additional routes.

    Attributes:
        core: The `ServingCore`.
        rest_port: int. The port of the REST interface, or `None` if there is no such interface.
        grpc_port: int. The port of the gRPC interface, or `None` if there is no such interface.

    Raises:
        ValueError: If an entry of `options.allowed_origins` is not a valid origin.
        OSError: If a port cannot be opened, or a TLS file cannot be read or is not valid.
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
        # Ports are opened first, so that a port in use is reported before models are loaded.
        if options.grpc_port is not None:
            self._grpc = GrpcFront(
                self.core,
                options.host,
                options.grpc_port,
                min(options.max_message_mb * MEGABYTE, 2**31 - 1),
                grpc_credentials(options.tls_cert, options.tls_key),
                options.share_ports,
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
                options.share_ports,
            )
        self.rest_port = self._rest and self._rest.port
        self.grpc_port = self._grpc and self._grpc.port

    def start(self):
        """Loads the models, then starts answering requests.

        Raises:
            ValueError: If a model has no version that can be served.
            OSError: If the REST interface fails to start.
        """
        pool = self.core.pool
        pool.refresh()
        for model in pool.models.values():
            if not model.available:
                self.stop(0)
                raise ValueError(why_nothing(model))
        for front in filter(None, (self._grpc, self._rest)):
            front.start()
        if self._options.poll_seconds:
            pool.start(self._options.poll_seconds)

    def stop(self, seconds=30.0):
        """Rejects new requests and waits until the accepted ones are answered.

        Args:
            seconds: float. Time limit in seconds for the accepted requests. Defaults to 30.0.

        Returns:
            bool. `True` if all accepted requests were answered in time.
        """
        until = time.monotonic() + seconds
        self.core.pool.ask_to_stop()
        on_loop(self._stop_fronts(seconds))
        self.core.pool.stop(until - time.monotonic())  # does not wait for a version to load
        whole = self.core.dispatcher.drain(0)
        self.core.dispatcher.close()
        return whole

    async def _stop_fronts(self, seconds):
        fronts = filter(None, (self._grpc, self._rest))
        await asyncio.gather(*(front.stop(seconds) for front in fronts))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()


def why_nothing(model):
    """Returns the error message for a model without a version to serve."""
    try:
        errors = [str(error) for _, _, error in model.status() if error]
    except Exception:
        errors = []
    if errors:
        return f"{model.name}: no version can be served. {errors[0]}"
    return (
        f"{model.config.base_path} contains no version of a model to serve: expected folders named "
        "1, 2, ..., each with a SavedModel, of which the version policy selects at least one. "
        "`tfreps export` creates such folders."
    )


def grpc_credentials(cert, key):
    """Returns gRPC server credentials from PEM files, or `None` if no file is given."""
    if not cert and not key:
        return None
    pair = pathlib.Path(key or cert).read_bytes(), pathlib.Path(cert or key).read_bytes()
    return grpc.ssl_server_credentials([pair])
