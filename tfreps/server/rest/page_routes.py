"""page_routes: a page that asks the models, and the paths that it needs."""

import asyncio
import json

from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tfreps.server.requests.serving_error import ServingError, as_serving_error
from tfreps.server.requests.ticket import too_late
from tfreps.server.rest.context_neighbours import ContextNeighbours, text_signature

LARGEST_BODY = 2**20
# The page may load what this server has, and nothing else from anywhere.
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def page_routes(core, folder, sentences=()):
    """Makes routes for a server's REST port: `/page/`, to which `/` leads.

    Beside the files of the folder there are

        GET  /page/models       [{name, version, signature, outputs}], the models that read text
        POST /page/neighbours   {model, texts, text, token} -> [{token, left, right, from,
                                similarity}], see `ContextNeighbours.find`

    Args:
        core: a `ServingCore`.
        folder: with `index.html` and what it loads.
        sentences: list of str, among whose words neighbours are looked for too.

    Returns:
        list of Starlette's routes.
    """
    neighbours = ContextNeighbours(core, sentences)

    async def models(request):
        return JSONResponse(text_models(core))

    async def nearest(request):
        try:
            return JSONResponse(await answer(core, neighbours, request))
        except Exception as error:
            problem = as_serving_error(error)
            return JSONResponse({"error": problem.message}, problem.http_status)

    async def home(request):
        return RedirectResponse("/page/")

    files = StaticFiles(directory=folder, html=True)
    return [
        Route("/", home, methods=["GET"]),
        Route("/page/models", models, methods=["GET"]),
        Route("/page/neighbours", nearest, methods=["POST"]),
        Mount("/page", app=with_headers(files)),
    ]


def text_models(core):
    """Describes the models for the page: those that have a signature for raw text."""
    found = []
    for name in core.pool.models:
        try:
            with core.pool.lease(name) as (version, servable):
                signature = text_signature(servable)
        except ServingError:  # none of its versions is loaded
            continue
        if signature is not None:
            outputs = sorted(signature.outputs)
            entry = {"name": name, "version": version, "signature": signature.name}
            found.append({**entry, "outputs": outputs})
    return found


async def answer(core, neighbours, request):
    """Finds the neighbours that a request asks for, in a thread of the server."""
    asked = await read_json(request)
    ticket = core.dispatcher.new_ticket()
    future = core.dispatcher.submit(neighbours.find, *check(asked), ticket=ticket)
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), ticket.seconds)
    except asyncio.TimeoutError:
        ticket.cancel()
        raise too_late(ticket.seconds) from None


async def read_json(request):
    """Reads the body of a request, which is as small as a page sends it."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            message = f"The request is larger than {LARGEST_BODY} bytes."
            raise ServingError("RESOURCE_EXHAUSTED", message, 413)
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ServingError("INVALID_ARGUMENT", f"The body is no JSON: {error}") from None


def check(asked):
    """Checks a request and returns its model, texts, text and token.

    Raises:
        ServingError: INVALID_ARGUMENT.
    """
    kinds = {"model": str, "texts": list, "text": int, "token": int}
    for name, kind in kinds.items():
        if not isinstance(asked, dict) or type(asked.get(name)) is not kind:
            message = f"Expected a JSON object with {name!r}, a {kind.__name__}."
            raise ServingError("INVALID_ARGUMENT", message)
    if not all(isinstance(text, str) for text in asked["texts"]):
        raise ServingError("INVALID_ARGUMENT", "Expected strings in 'texts'.")
    return [asked[name] for name in kinds]


def with_headers(app):
    """Makes an ASGI application whose answers have the headers above."""
    extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def wrapped(scope, receive, send):
        async def send_more(message):
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        await app(scope, receive, send_more)

    return wrapped
