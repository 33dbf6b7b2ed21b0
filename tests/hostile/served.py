"""Server of small models in this process, called over ASGI and gRPC's services."""

import asyncio
import json

import grpc

from tests.serving.server.small_models import save_half, save_zoo, serving
from tfreps.serving.server.grpc.grpc_services import GrpcServices
from tfreps.serving.server.requests.event_loop import on_loop
from tfreps.serving.server.rest.request_guard import RequestGuard
from tfreps.serving.server.rest.rest_app import RestApp

CODE = grpc.StatusCode
# Valid status codes of responses to invalid requests.
STATUS = {200, 400, 403, 404, 405, 408, 413, 415, 429, 501}
REFUSALS = {CODE.INVALID_ARGUMENT, CODE.NOT_FOUND, CODE.FAILED_PRECONDITION, CODE.UNIMPLEMENTED}
REFUSALS |= {CODE.RESOURCE_EXHAUSTED, CODE.OUT_OF_RANGE}


class Aborted(Exception):
    """Status code and details with which the service ended a call."""


class Context:
    """The part of gRPC's context that the services use."""

    def time_remaining(self):
        return 20.0

    def is_active(self):
        return True

    async def abort(self, code, details):
        raise Aborted(code, details)

    def __getattr__(self, name):  # metadata, peers, callbacks: no effect
        return lambda *args, **options: True


class Served:
    """Server of two models that is called in this process.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder):
        save_half(folder / "half_plus_two" / "123")
        save_zoo(folder / "zoo" / "7")
        self.server = serving(folder / "half_plus_two", folder / "zoo", max_body_mb=1)
        self.server.start()
        core = self.server._core
        core.pool.models["half_plus_two"].config.labels["stable"] = 123
        self.app = RequestGuard(RestApp(core).asgi, core.options)
        self.services = GrpcServices(core)

    def rest(self, method, path, body=b"", headers=(), parts=1):
        """Returns the status, headers and body of an answer; the path is bytes."""
        path, _, query = path.partition(b"?")
        scope = {
            **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1"},
            **{"method": method, "scheme": "http", "raw_path": path, "query_string": query},
            "path": path.decode("utf-8", "replace"),
            "root_path": "",
            "headers": [(b"host", b"localhost"), *headers],
            "client": ("127.0.0.1", 9),
            "server": ("127.0.0.1", 8501),
        }
        size = -(-len(body) // parts) or 1
        pieces = [body[n : n + size] for n in range(0, len(body), size)] or [b""]
        sent = []

        async def receive():
            if pieces:
                part = pieces.pop(0)
                return {"type": "http.request", "body": part, "more_body": bool(pieces)}
            return await asyncio.Event().wait()  # the client waits for its response

        async def send(message):
            sent.append(message)

        on_loop(self.app(scope, receive, send))
        start = sent[0]
        answer = b"".join(message.get("body", b"") for message in sent[1:])
        return start["status"], dict(start["headers"]), answer

    def grpc(self, method, request):
        """Returns the response of a service, or the code and details of its error."""
        try:
            return on_loop(getattr(self.services, method)(request, Context()))
        except Aborted as error:
            return error.args

    def still_serves(self):
        status, _, answer = self.rest(
            "POST", b"/v1/models/half_plus_two:predict", b'{"inputs": [2.0]}'
        )
        assert (status, json.loads(answer)) == (200, {"outputs": [3.0]})
