"""ModelServer: serves models on a gRPC and a REST port."""

import asyncio
import contextlib
import functools
import time

from tfreps._src.server.grpc.grpc_front import GrpcFront
from tfreps._src.server.models.model_pool import ModelPool
from tfreps._src.server.models.servable import Servable
from tfreps._src.server.requests.event_loop import on_loop
from tfreps._src.server.requests.server_options import ServerOptions
from tfreps._src.server.requests.serving_core import ServingCore
from tfreps._src.server.requests.serving_error import ServingError
from tfreps._src.server.rest.request_guard import RequestGuard
from tfreps._src.server.rest.rest_app import RestApp
from tfreps._src.server.rest.rest_front import RestFront


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
        options = options or ServerOptions()
        pool = ModelPool(configs, functools.partial(Servable, options=options))
        self.core = ServingCore(pool, options)
        self._rest = self._grpc = None
        # Ports are opened first, so that a port in use is reported before models are loaded.
        try:
            if options.grpc_port is not None:
                self._grpc = GrpcFront(self.core)
            if options.rest_port is not None:
                app = RestApp(self.core, make_routes(self.core) if make_routes else ())
                self._rest = RestFront(RequestGuard(app.asgi, options), options)
        except Exception:
            self.stop(0)  # closes the other port
            raise
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
        try:
            for model in pool.models.values():
                if not model.available:
                    raise ValueError(why_nothing(model))
            for front in filter(None, (self._grpc, self._rest)):
                front.start()
        except Exception:
            self.stop(0)
            raise
        if self.core.options.poll_seconds:
            pool.start(self.core.options.poll_seconds)

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
        return not self.core.in_progress

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
    with contextlib.suppress(ServingError):  # no version at all
        errors = [str(error) for _, _, error in model.status() if error]
        if errors:
            return f"{model.name}: no version can be served. {errors[0]}"
    return (
        f"{model.config.base_path} contains no version of a model to serve: expected folders named "
        "1, 2, ..., each with a SavedModel, of which the version policy selects at least one. "
        "`tfreps export` creates such folders."
    )
