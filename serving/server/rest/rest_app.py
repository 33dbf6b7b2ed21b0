"""RestApp: TensorFlow Serving's REST interface as an ASGI application."""

import asyncio
import functools
import json
import re
from urllib.parse import unquote

from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from tensorflow_serving.apis import get_model_metadata_pb2

from tfreps.serving.server.requests.server_options import MEGABYTE
from tfreps.serving.server.requests.serving_core import SIGNATURE_DEF
from tfreps.serving.server.requests.serving_error import ServingError, as_serving_error
from tfreps.serving.server.rest.json_requests import invalid, parse_body, read_body, read_inputs
from tfreps.serving.server.rest.json_responses import predict_json

WHICH = r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
PREDICT = re.compile(
    rf"/v1/models/(?P<name>[^/:]+){WHICH}:(?P<verb>classify|regress|predict)", re.I
)
LOOK = re.compile(rf"/v1/models(?:/(?P<name>[^/:]+))?{WHICH}(?:/(?P<part>metadata))?", re.I)
LARGEST = 2**63 - 1


class RestApp:
    """ASGI application with TensorFlow Serving's REST interface.

    Its paths are:

        /v1/models/NAME[/versions/N|/labels/L]             the status of the versions of a model
        /v1/models/NAME[/versions/N|/labels/L]/metadata    the signatures of a version
        /v1/models/NAME[/versions/N|/labels/L]:predict     the outputs of a version
        /monitoring/prometheus/metrics                     metrics
        /healthz                                           200 if every model has a version that
                                                           responds in time, 503 otherwise

    `core` is a `ServingCore`. Additional Starlette `routes`, such as the result of `page_routes`,
    take precedence over these paths.
    """

    def __init__(self, core, routes=()):
        self._core = core
        self.asgi = Starlette(
            routes=[
                *routes,
                *(Mount(path, app=self._v1) for path in ("/v1", "/V1")),
                Route("/monitoring/prometheus/metrics", self._metrics, methods=["GET"]),
                Route("/healthz", self._healthz, methods=["GET"]),
            ],
            exception_handlers={HTTPException: http_error},
        )
        self.asgi.router.redirect_slashes = False  # paths with a slash at the end do not exist

    async def _v1(self, scope, receive, send):
        """Responds to a request whose path begins with /v1. An error is sent as a JSON object."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            return
        except Exception as error:
            # The frames of the traceback would keep the body in memory.
            problem = as_serving_error(error.with_traceback(None))
            response = reply({"error": problem.message}, problem.http_status)
            # The rest of the body is not read, so the connection cannot be used again.
            if problem.http_status in (408, 413):
                response.headers["connection"] = "close"
        # A client may never read its response, so there is a time limit.
        await asyncio.wait_for(response(scope, receive, send), self._core.options.timeout_seconds)

    async def _answer(self, request):
        path = (request.scope.get("raw_path") or request.url.path.encode()).decode("latin-1")
        if request.method == "OPTIONS":
            return Response(headers={"allow": "GET, POST, OPTIONS"})
        match = PREDICT.fullmatch(path)
        if request.method == "POST" and match and match["verb"].islower():
            if match["verb"] != "predict":
                raise ServingError(
                    "UNIMPLEMENTED", f"This server does not support {match['verb']}. Use predict."
                )
            return await self._predict(request, requested_version(match))
        match = LOOK.fullmatch(path)
        if request.method == "GET" and match:
            which = requested_version(match)
            if not which[0]:
                raise invalid(
                    "Missing model name in request. Request a path such as /v1/models/NAME."
                )
            # Health probes use these paths, so `max_requests` does not apply to them.
            kind, look = "GetModelStatus", self._status
            if match["part"] == "metadata":  # only in lower case, as in TensorFlow Serving
                kind, look = "GetModelMetadata", self._metadata
            with self._core.recorded(which[0], kind, "REST"):
                return reply(look(which))
        raise invalid(
            f"Malformed request: {request.method} {path}. Send POST /v1/models/NAME:predict, "
            "GET /v1/models/NAME or GET /v1/models/NAME/metadata."
        )

    async def _predict(self, request, which):
        """Returns the response to a request for predictions.

        If the client disconnects, the request is cancelled.
        """
        core = self._core
        seconds = core.options.timeout_seconds
        body = await read_body(request, core.options.max_body_mb * MEGABYTE, seconds)
        call = core.call()
        gone = asyncio.ensure_future(end_of(request))
        gone.add_done_callback(lambda _: call.cancel())
        try:
            with core.recorded(which[0], "predict", "REST"):
                read = functools.partial(self._read, body)
                return reply(await core.respond(call, core.predict, which, len(body), read))
        finally:
            gone.cancel()

    def _read(self, body, call, servable, number):
        """Parses the body of a request, and prepares the call of the model."""
        options = self._core.options
        given = parse_body(body, options.max_elements)
        name = given.get("signature_name", "")
        if not isinstance(name, str):
            raise invalid(f"'signature_name' must be a string; got {str(name)[:40]}.")
        signature = servable.signature(name)
        inputs, rows = read_inputs(given, signature)
        write = functools.partial(predict_json, rows=rows, options=options)
        servable.prepare(call, signature, inputs, write=write)

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


def requested_version(match):
    """Returns a tuple of the name, version and label in a path that matched `PREDICT` or `LOOK`.

    A value that the path does not contain is `None`.
    """
    name, version, label = match["name"], match["version"], match["label"]
    if version is not None:
        digits = version.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > LARGEST:
            raise invalid(f"A version number must be at most {LARGEST}; got {version[:40]}.")
        version = int(digits)
    return name and unquote(name), version, label and unquote(label)


def reply(content, status=200):
    """Returns a JSON response for a value, or for bytes that are already JSON."""
    if not isinstance(content, bytes):
        content = json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "replace")
    return Response(content, status, media_type="application/json")


async def http_error(request, error):
    """Returns a JSON response for an error that Starlette reports, such as an unknown path."""
    return reply({"error": str(error.detail)}, error.status_code)
