"""page_routes: routes of the web page on which users query the models."""

import asyncio

from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tfreps.serving.server.requests.serving_error import ServingError, as_serving_error
from tfreps.serving.server.rest.context_neighbors import ContextNeighbors, text_signature
from tfreps.serving.server.rest.json_requests import invalid, parse_body, read_body

LARGEST_BODY = 2**20
# The page may only load files from this server.
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
KINDS = {
    "model": (str, "a string"),
    "texts": (list, "an array of strings"),
    "text": (int, "an integer"),
    "token": (int, "an integer"),
}


class PageFiles(StaticFiles):
    """Static files of the web page, which are sent with the HTTP headers in `HEADERS`."""

    async def get_response(self, path, scope):
        """Returns the response for a path, to which `HEADERS` are added."""
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response


def page_routes(core, folder, sentences=()):
    """Returns the routes of the web page at `/page/`, to which `/` redirects.

    In addition to the files in `folder`, the routes are:

        GET  /page/models      [{name, version, signature, outputs}], the models that take text
        POST /page/neighbors   {model, texts, text, token} -> [{token, left, right, from,
                               similarity}], the arguments and result of `ContextNeighbors.find`,
                               whose candidates include the words of `sentences`
    """
    neighbors = ContextNeighbors(core, sentences)

    async def models(request):
        return JSONResponse(text_models(core))

    async def nearest(request):
        try:
            body = await read_body(request, LARGEST_BODY, core.options.timeout_seconds)
            given = await asyncio.to_thread(parse_body, body, core.options.max_elements)
            found = await core.respond(core.call(), neighbors.find, *checked(given))
            return JSONResponse(found)
        except Exception as error:
            problem = as_serving_error(error)
            return JSONResponse({"error": problem.message}, problem.http_status)

    async def home(request):
        return RedirectResponse("/page/")

    return [
        Route("/", home, methods=["GET"]),
        Route("/page/models", models, methods=["GET"]),
        Route("/page/neighbors", nearest, methods=["POST"]),
        Mount("/page", app=PageFiles(directory=folder, html=True)),
    ]


def text_models(core):
    """Returns a list of one dict for each model that has a signature for raw text.

    The keys are `name`, `version`, `signature` and `outputs`.
    """
    found = []
    for name in core.pool.models:
        try:
            with core.pool.lease(name) as (version, servable):
                signature = text_signature(servable)
        except ServingError:  # raised if no version of the model is loaded
            continue
        if signature is not None:
            outputs = sorted(signature.outputs)
            entry = {"name": name, "version": version, "signature": signature.name}
            found.append({**entry, "outputs": outputs})
    return found


def checked(given):
    """Returns the list `[model, texts, text, token]` of the values of a request.

    Raises a ServingError if a value has the wrong type.
    """
    for name, (kind, wanted) in KINDS.items():
        if type(given.get(name)) is not kind:
            raise invalid(
                f"The body of the request must be a JSON object in which {name!r} is {wanted}; "
                f"got {str(given.get(name))[:40]!r}."
            )
    if not all(isinstance(text, str) for text in given["texts"]):
        raise invalid("'texts' must be an array of strings; got an array with other values.")
    return [given[name] for name in KINDS]
