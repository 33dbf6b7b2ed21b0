"""ModelServer: serves models on a gRPC and a REST port."""

import asyncio
import functools
import time
from collections.abc import Callable, Iterable, Sequence

from starlette.routing import BaseRoute

from tfreps.serving.server.grpc.grpc_front import GrpcFront
from tfreps.serving.server.models.model_configs import ModelConfig
from tfreps.serving.server.models.model_pool import ModelPool, ServedModel
from tfreps.serving.server.models.servable import Servable
from tfreps.serving.server.requests.event_loop import on_loop
from tfreps.serving.server.requests.server_options import ServerOptions
from tfreps.serving.server.requests.serving_core import ServingCore
from tfreps.serving.server.rest.request_guard import RequestGuard
from tfreps.serving.server.rest.rest_app import RestApp
from tfreps.serving.server.rest.rest_front import RestFront


class ModelServer:
    """Server that loads models and responds to requests over gRPC and REST.

    If it is used as a context manager, the server starts when the block is entered, and stops when
    the block is left.

    Args:
        configs: sequence of `ModelConfig`. The models to serve. Their names must be distinct.
        options: `ServerOptions` or None. If `None`, the default options are used. Defaults to
            `None`.
        make_routes: callable or None. Function that takes the server and returns additional
            Starlette routes for the REST port. If `None`, there are no additional routes. Defaults
            to `None`.

    Attributes:
        rest_port: int or None. Port of the REST interface, or `None` if there is none.
        grpc_port: int or None. Port of the gRPC interface, or `None` if there is none.

    Raises:
        ValueError: If several models have the same name, or an entry of `options.allowed_origins`
            is not a valid origin.
        OSError: If a port cannot be opened, or a TLS file cannot be read or is not valid.
    """

    def __init__(
        self,
        configs: Sequence[ModelConfig],
        options: ServerOptions | None = None,
        make_routes: "Callable[[ModelServer], Iterable[BaseRoute]] | None" = None,
    ):
        options = options or ServerOptions()
        pool = ModelPool(configs, functools.partial(Servable, options=options))
        self._core = ServingCore(pool, options)
        self._rest: RestFront | None = None
        self._grpc: GrpcFront | None = None
        # Ports are opened first, so that a port in use is reported before models are loaded.
        try:
            if options.grpc_port is not None:
                self._grpc = GrpcFront(self._core)
            if options.rest_port is not None:
                app = RestApp(self._core, make_routes(self) if make_routes else ())
                self._rest = RestFront(RequestGuard(app.asgi, options), options)
        except Exception:
            self.stop(0)  # closes the port that was opened
            raise
        self.rest_port: int | None = self._rest and self._rest.port
        self.grpc_port: int | None = self._grpc and self._grpc.port

    def start(self) -> None:
        """Loads the models, then starts to respond to requests.

        Raises:
            ValueError: If a model has no version that can be served.
            OSError: If the REST interface fails to start.
        """
        pool = self._core.pool
        pool.refresh()
        try:
            for model in pool.models.values():
                if not model.available:
                    raise ValueError(why_nothing(model))
            for front in filter(None, (self._grpc, self._rest)):
                front.start()
        except Exception:
            self.stop(0)
            raise
        if self._core.options.poll_seconds:
            pool.start(self._core.options.poll_seconds)

    def stop(self, timeout: float = 30.0) -> bool:
        """Rejects new requests, and waits until accepted requests are finished.

        Args:
            timeout: float. Seconds to wait for the accepted requests. Defaults to 30.0.

        Returns:
            bool. `True` if all accepted requests finished in time.
        """
        until = time.monotonic() + timeout
        self._core.pool.stop(0)  # loads no further version
        on_loop(self._stop_fronts(timeout))
        # Waits, because a version may still be loading.
        self._core.pool.stop(until - time.monotonic())
        return not self._core.in_progress

    async def _stop_fronts(self, timeout: float) -> None:
        fronts = filter(None, (self._grpc, self._rest))
        await asyncio.gather(*(front.stop(timeout) for front in fronts))

    def __enter__(self) -> "ModelServer":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def why_nothing(model: ServedModel) -> str:
    """Returns the error message, a str, that says why no version of a model can be served."""
    errors = [str(error) for _, _, error in model.status() if error]
    if errors:
        return f"{model.name}: no version can be served. {errors[0]}"
    return (
        f"{model.config.base_path} contains no version of a model to serve: expected folders named "
        "1, 2, ..., each with a SavedModel, of which the version policy selects at least one. "
        "`tfreps export` creates such folders."
    )
