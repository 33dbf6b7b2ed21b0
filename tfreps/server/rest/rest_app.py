"""RestApp: TensorFlow Serving's REST interface as an ASGI application."""

import asyncio
import gzip
import io
import json
import re
import zlib
from urllib.parse import unquote

from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from tensorflow_serving.apis import get_model_metadata_pb2

from tfreps.server.requests.dispatcher import SMALL
from tfreps.server.requests.serving_core import SIGNATURE_DEF
from tfreps.server.requests.serving_error import ServingError, as_serving_error
from tfreps.server.rest.json_answers import json_size, predict_json
from tfreps.server.rest.json_requests import parse_body, read_inputs, signature_name

WHICH = r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
ASK = re.compile(rf"/v1/models/(?P<name>[^/:]+){WHICH}:(?P<verb>classify|regress|predict)", re.I)
LOOK = re.compile(rf"/v1/models(?:/(?P<name>[^/:]+))?{WHICH}(?:/(?P<part>metadata))?", re.I)
LARGEST = 2**63 - 1


class RestApp:
    """ASGI application with TensorFlow Serving's REST interface.

    Its paths are:

        /v1/models/NAME[/versions/N|/labels/L]             the status of the versions of a model
        /v1/models/NAME[/versions/N|/labels/L]/metadata    the signatures of a version
        /v1/models/NAME[/versions/N|/labels/L]:predict     the answers of a version
        /monitoring/prometheus/metrics                     metrics
        /healthz                                           200 if every model has a version that
                                                           answers in time, 503 otherwise

    Args:
        core: `ServingCore`.
        max_body_bytes: int. Maximum number of bytes in a request body, before and after
            decompression. Larger bodies are rejected with HTTP status 413. Defaults to 2**24.
        routes: List of additional Starlette routes, such as those of a web page. They take
            precedence over the paths above. Defaults to `()`.

    Attributes:
        asgi: The ASGI application.
    """

    def __init__(self, core, max_body_bytes=2**24, routes=()):
        self._core = core
        self._most = max_body_bytes
        self.asgi = Starlette(
            routes=[
                *routes,
                *(Mount(path, app=self._v1) for path in ("/v1", "/V1")),
                Route("/monitoring/prometheus/metrics", self._metrics, methods=["GET"]),
                Route("/healthz", self._healthz, methods=["GET"]),
            ],
            exception_handlers={HTTPException: http_error},
        )
        self.asgi.router.redirect_slashes = False  # only the paths above exist

    async def _v1(self, scope, receive, send):
        """Answers requests below /v1, with errors as JSON objects."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Exception as error:
            if isinstance(error, ClientDisconnect):
                return
            problem = as_serving_error(error.with_traceback(None))  # whose frames hold the body
            response = reply({"error": problem.message}, problem.http_status)
            if problem.http_status in (408, 413):  # the rest of the body is not read
                response.headers["connection"] = "close"
        # A client may never read its answer, so there is a time limit.
        await asyncio.wait_for(response(scope, receive, send), self._core.dispatcher.seconds)

    async def _answer(self, request):
        path = raw_path(request)
        if request.method == "OPTIONS":
            return Response(headers={"allow": "GET, POST, OPTIONS"})
        match = ASK.fullmatch(path)
        if request.method == "POST" and match and match["verb"].islower():
            which = asked_for(match)
            if match["verb"] != "predict":
                raise ServingError(
                    "UNIMPLEMENTED", f"This server does not support {match['verb']}. Use predict."
                )
            return await self._work(request, which, await self._body(request))
        if request.method == "GET" and (match := LOOK.fullmatch(path)):
            which = asked_for(match)
            if not which[0]:
                raise ServingError("INVALID_ARGUMENT", "Missing model name in request.")
            # Health probes use these paths, so they do not wait for other requests.
            kind = "GetModelStatus"
            look = self._status
            if match["part"] == "metadata":  # only in lower case, as in TensorFlow Serving
                kind = "GetModelMetadata"
                look = self._metadata
            with self._core.recorded(which[0], kind, "REST"):
                return reply(await asyncio.to_thread(look, which))
        raise ServingError("INVALID_ARGUMENT", f"Malformed request: {request.method} {path}")

    async def _work(self, request, which, body):
        """Answers a request, and cancels it if the client disconnects or the time is up."""
        dispatcher = self._core.dispatcher
        with self._core.recorded(which[0], "predict", "REST"):
            ticket = dispatcher.new_ticket(client=request.client)
            is_large = len(body) > SMALL
            work = dispatcher.answer(self._predict, which, body, ticket=ticket, in_thread=is_large)
            answer = asyncio.ensure_future(work)
            gone = asyncio.ensure_future(end_of(request))
            try:
                await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
                if answer.done():
                    return reply(answer.result())
                raise ServingError("CANCELLED", "The client has disconnected.")
            finally:
                gone.cancel()
                answer.cancel()

    async def _body(self, request):
        """Reads and decompresses the body within the limits of time and size."""
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._most:
            raise self._too_large()
        seconds = self._core.dispatcher.seconds
        try:
            body = await asyncio.wait_for(self._read(request), seconds)
        except asyncio.TimeoutError:
            message = f"The body of the request did not arrive within {seconds:g} seconds."
            raise ServingError("DEADLINE_EXCEEDED", message, 408) from None
        if request.headers.get("content-encoding", "").lower() == "gzip":
            body = await asyncio.to_thread(self._unpack, body)
        return body

    async def _read(self, request):
        body = bytearray()
        async for part in request.stream():
            if len(body) + len(part) > self._most:
                raise self._too_large()
            body += part
        return bytes(body)

    def _unpack(self, body):
        """Decompresses a body, but at most one byte more than is allowed."""
        try:
            body = gzip.GzipFile(fileobj=io.BytesIO(body)).read(self._most + 1)
        except EOFError:
            message = "The body of the request is truncated gzip data."
            raise ServingError("INVALID_ARGUMENT", message) from None
        except (gzip.BadGzipFile, zlib.error):
            message = "The body of the request is not valid gzip data."
            raise ServingError("INVALID_ARGUMENT", message) from None
        if len(body) > self._most:
            raise self._too_large()
        return body

    def _too_large(self):
        message = (
            f"The body of the request is larger than {self._most} bytes, the maximum (server "
            "option `max_body_mb`)."
        )
        return ServingError("RESOURCE_EXHAUSTED", message, 413)

    def _predict(self, which, body):
        asked = parse_body(body, self._core.most_elements)
        name = signature_name(asked)

        def start(_, servable):
            signature = servable.signature(name, "INVALID_ARGUMENT")
            inputs, rows = read_inputs(asked, signature)

            def write(outputs):
                servable.limits.check_answer(json_size(outputs), "The answer as JSON")
                return predict_json(outputs, rows)

            return self._core.submit(which[0], servable, name, inputs, write=write)

        return self._core.ask(which, start)

    def _status(self, which):
        return json_format.MessageToDict(
            self._core.status_message(*which), always_print_fields_with_no_presence=True
        )

    def _metadata(self, which):
        message = self._core.metadata_message(*which)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        message.metadata[SIGNATURE_DEF].Unpack(signatures)
        spec, found = (
            json_format.MessageToDict(
                part, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
            )
            for part in (message.model_spec, signatures)
        )
        return {"model_spec": spec, "metadata": {SIGNATURE_DEF: found}}

    async def _metrics(self, request):
        return Response(self._core.metrics.page(), media_type="text/plain; version=0.0.4")

    async def _healthz(self, request):
        ready = self._core.ready
        return reply({"ready": ready}, 200 if ready else 503)


async def end_of(request):
    """Waits until the client disconnects. The body of the request must already have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def raw_path(request):
    """Returns the path as it was sent, in which slashes in names are still escaped."""
    return (request.scope.get("raw_path") or request.url.path.encode()).decode("latin-1")


def asked_for(match):
    """Returns the `(name, version, label)` in a path. A value that is not in the path is None."""
    name = match["name"]
    label = match["label"]
    version = match["version"]
    if version is not None:
        digits = version.lstrip("0")
        if len(digits) > 19 or int(digits or 0) > LARGEST:
            raise ServingError(
                "INVALID_ARGUMENT", f"Failed to convert version: {version[:40]} to numeric."
            )
        version = int(digits or 0)
    return name and unquote(name), version, label and unquote(label)


def reply(content, status=200):
    """Returns a JSON response for a value, or for bytes that are already JSON."""
    if not isinstance(content, bytes):
        content = json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "replace")
    return Response(content, status, media_type="application/json")


async def http_error(request, error):
    """Returns the JSON response to an error of Starlette, such as an unknown path."""
    return reply({"error": str(error.detail)}, error.status_code)
