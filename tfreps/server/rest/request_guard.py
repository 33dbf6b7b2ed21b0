"""RequestGuard: rejects requests that other web sites make a browser send, and ambiguous ones."""

import ipaddress
import re
import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from tfreps.server.requests.serving_error import ServingError
from tfreps.server.rest.rest_app import reply

ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/\s@]+")
PORTS = {"http": 80, "https": 443}


class RequestGuard:
    """An ASGI application in front of another one that decides who may ask.

    A browser sends requests to this machine on behalf of any page that it shows. Three rules stop
    that, and leave programs that are no browsers alone:

    - On a loopback address, and wherever `names` are given, the `Host` header has to be an IP
      address, `localhost`, the address listened on, or one of `names`. A site whose own name
      points to this machine (DNS rebinding) is refused, 403.
    - A request with an `Origin` header has to come from a page of this server or from one of
      `origins`, else 403. The answers to `origins` have CORS headers, and OPTIONS is answered.
    - The body of a request from a browser has to be `application/json` or without a type, else
      415: other types are sent without asking first.

    A request with both `Content-Length` and `Transfer-Encoding` gets 400, and the connection ends:
    a proxy in between could take another length for the right one (request smuggling).

    Args:
        app: the ASGI application.
        host: address that the server listens on.
        names: more names in the `Host` header.
        origins: web sites, as `https://example.org`, that may ask from a browser; `*` for all.

    Raises:
        ValueError: an origin is none.

    Example:
    >>> guard = RequestGuard(None, "127.0.0.1", names=["models.test"])
    >>> guard.check("GET", {"host": "models.test:8501"})
    >>> guard.check("GET", {"host": "evil.example"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tfreps.server.requests.serving_error.ServingError: This server does not answer to the host ...
    """

    def __init__(self, app, host, names=(), origins=()):
        self._app = app
        self._names = {"localhost", plain(host), *map(plain, names)}
        self._checks_host = bool(names) or is_loopback(host)
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        for origin in self._origins:
            if not ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"An origin is written https://example.org or http://localhost:3000, or * for "
                    f"all, not {origin!r}."
                )

    async def __call__(self, scope, receive, send):
        """Rejects a request, or hands it to the application."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        try:
            self.check(scope["method"], headers)
        except ServingError as error:
            response = reply({"error": error.message}, error.http_status)
            response.headers["connection"] = "close"  # the body is not read
            return await response(scope, receive, send)
        origin = headers.get("origin")
        if origin is None or is_own(origin, headers.get("host", "")):
            return await self._app(scope, receive, send)
        cors = {"access-control-allow-origin": "*" if "*" in self._origins else origin}
        if scope["method"] == "OPTIONS":
            return await preflight(headers, cors)(scope, receive, send)
        await self._app(scope, receive, with_headers(send, cors))

    def check(self, method, headers):
        """Raises a ServingError for a request that must be rejected.

        Args:
            method: of HTTP.
            headers: mapping with names in lower case.

        Raises:
            ServingError: PERMISSION_DENIED (403); INVALID_ARGUMENT (400, 415).
        """
        if "content-length" in headers and "transfer-encoding" in headers:
            raise ServingError(
                "INVALID_ARGUMENT", "The request has both Content-Length and Transfer-Encoding."
            )
        self._check_host(headers.get("host", ""))
        self._check_site(method, headers)
        if method in ("POST", "PUT", "PATCH") and is_browser(headers):
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in ("", "application/json"):
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"A browser has to send application/json to this server, not {kind[:100]}.",
                    415,
                )

    def _check_host(self, host):
        name = plain(host)
        if host and self._checks_host and name not in self._names and not is_address(name):
            raise ServingError(
                "PERMISSION_DENIED",
                f"This server does not answer to the host {name[:100]!r}: a web site could reach "
                "it under a name of its own. If the name is right, start the server with it "
                "among the `allowed_hosts`.",
            )

    def _check_site(self, method, headers):
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "none")
        if "*" in self._origins:
            return
        if origin is None:
            follows_link = headers.get("sec-fetch-mode") == "navigate" and method in ("GET", "HEAD")
            foreign = site in ("cross-site", "same-site") and not follows_link
        else:
            own = is_own(origin, headers.get("host", ""))
            foreign = not own and origin.lower() not in self._origins
        if foreign:
            asking = origin[:100] if origin else "other web sites"
            raise ServingError(
                "PERMISSION_DENIED",
                f"Pages of {asking} may not ask this server. To allow the pages of a site, start "
                "the server with its address, such as https://example.org, among the "
                "`allowed_origins`.",
            )


def preflight(headers, cors):
    """Answers a browser that asks whether a page may send a request."""
    cors = {
        **cors,
        "access-control-allow-methods": "POST, GET",
        "access-control-allow-headers": "Content-Type",
        "access-control-max-age": "600",
        "vary": "Origin",
    }
    if headers.get("access-control-request-private-network") == "true":
        cors["access-control-allow-private-network"] = "true"
    return Response(status_code=200, headers=cors)


def with_headers(send, cors):
    """Wraps `send` so that it adds headers to the start of an answer."""

    async def send_more(message):
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(cors)
            headers.add_vary_header("Origin")
        await send(message)

    return send_more


def is_browser(headers):
    return "origin" in headers or "sec-fetch-site" in headers


def is_own(origin, host):
    """Whether a page came from the host that is asked."""
    try:
        page = urlsplit(origin.lower())
        asked = urlsplit(f"//{host.lower()}")
        port = PORTS.get(page.scheme)
        there = (page.hostname, page.port or port)
        here = (asked.hostname, asked.port or port)
    except ValueError:  # a port that is no number
        return False
    return page.hostname is not None and there == here


def plain(host):
    """Returns the name or address in a `Host` header, without its port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rstrip(".") if name.count(":") > 1 else name.partition(":")[0].rstrip(".")


def is_address(name):
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host):
    """Whether a server on this address is reached from this machine only."""
    try:
        address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][4][0]
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except OSError:  # no such address: listening on it fails with a better error
        return True
