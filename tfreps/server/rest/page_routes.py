"""page_routes: routes of the web page on which users query the models."""

import json

from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tfreps.server.requests.serving_error import ServingError, as_serving_error
from tfreps.server.rest.context_neighbours import ContextNeighbours, text_signature

LARGEST_BODY = 2**20
# The page may only load files from this server.
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def page_routes(core, folder, sentences=()):
    """Returns the routes of the web page at `/page/`, to which `/` redirects.

    In addition to the files in `folder`, the routes are:

        GET  /page/models       [{name, version, signature, outputs}], the models that take text
        POST /page/neighbours   {model, texts, text, token} -> [{token, left, right, from,
                                similarity}], the arguments and result of `ContextNeighbours.find`

    Args:
        core: `ServingCore`.
        folder: str or path. The folder with `index.html` and the files that it loads.
        sentences: List of str. Sentences whose words are candidates for neighbours, in addition to
            the words in the texts of a request.

    Returns:
        A list of Starlette routes.
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
    """Returns descriptions of the models that have a signature for raw text."""
    found = []
    for name in core.pool.models:
        try:
            with core.pool.lease(name) as (version, servable):
                signature = text_signature(servable)
        except ServingError:  # no version is loaded
            continue
        if signature is not None:
            outputs = sorted(signature.outputs)
            entry = {"name": name, "version": version, "signature": signature.name}
            found.append({**entry, "outputs": outputs})
    return found


async def answer(core, neighbours, request):
    """Finds the neighbours for a request, in a thread of the server."""
    asked = await read_json(request)
    return await core.dispatcher.answer(neighbours.find, *check(asked))


async def read_json(request):
    """Reads the JSON body of a request, which must not be larger than 1 MiB."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            message = f"The body of the request is larger than {LARGEST_BODY} bytes, the maximum."
            raise ServingError("RESOURCE_EXHAUSTED", message, 413)
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        message = f"The body of the request is not valid JSON: {error}"
        raise ServingError("INVALID_ARGUMENT", message) from None


def check(asked):
    """Checks the JSON body of a request and returns a list `[model, texts, text, token]`.

    Raises:
        ServingError: INVALID_ARGUMENT if the body is not an object, a key is missing, or a value
            has the wrong type.
    """
    kinds = {
        "model": (str, "a string"),
        "texts": (list, "an array of strings"),
        "text": (int, "an integer"),
        "token": (int, "an integer"),
    }
    for name, (kind, wanted) in kinds.items():
        if not isinstance(asked, dict) or type(asked.get(name)) is not kind:
            message = (
                f"The body of the request must be a JSON object in which {name!r} is {wanted}."
            )
            raise ServingError("INVALID_ARGUMENT", message)
    if not all(isinstance(text, str) for text in asked["texts"]):
        raise ServingError("INVALID_ARGUMENT", "'texts' must be an array of strings.")
    return [asked[name] for name in kinds]


def with_headers(app):
    """Wraps an ASGI application so that its answers include `HEADERS`."""
    extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def wrapped(scope, receive, send):
        async def send_more(message):
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        await app(scope, receive, send_more)

    return wrapped
