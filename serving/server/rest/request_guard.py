"""RequestGuard: rejects ambiguous requests and requests from other web sites."""

import ipaddress
import re
import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware

from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.rest.rest_app import reply

ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/\s@]+")
PORTS = {"http": 80, "https": 443}


class RequestGuard:
    """ASGI middleware that rejects requests for foreign hosts and from foreign web sites.

    A browser on this machine may send requests to the server on behalf of any page that it shows.
    Three rules reject such requests. Only the first one also affects programs other than browsers:

    - If the server listens on a loopback address, or if `allowed_hosts` are given, the `Host`
      header must be an IP address, `localhost`, the address of the server, or one of these hosts.
      Otherwise, the request is rejected with HTTP status 403. This rejects, for example, requests
      for a site whose name resolves to this machine (DNS rebinding).
    - A request with an `Origin` header must come from a page of this server or of an allowed
      origin. Otherwise, it is rejected with HTTP status 403. Without this header, a request is
      rejected if its `Sec-Fetch-Site` header names another site, unless it follows a link.
    - The body of a request from a browser must have the type `application/json` or no type.
      Otherwise, the request is rejected with HTTP status 415, since browsers send some other types
      without a preflight request.

    A request with both `Content-Length` and `Transfer-Encoding` is rejected with HTTP status 400
    and its connection is closed, since a proxy could find another end of its body (request
    smuggling). `CORSMiddleware` adds the headers that browsers require for allowed origins.

    Args:
        app: ASGI application that handles the accepted requests.
        options: `ServerOptions`.

    Raises:
        ValueError: If an entry of `options.allowed_origins` is not a valid origin.
    """

    def __init__(self, app, options):
        names = options.allowed_hosts
        self._names = {"localhost", plain(options.host), *map(plain, names)}
        self._checks_host = bool(names) or is_loopback(options.host)
        self._origins = {origin.lower().rstrip("/") for origin in options.allowed_origins}
        for origin in self._origins:
            if not ORIGIN.fullmatch(origin):
                raise ValueError(
                    "An origin in `allowed_origins` must have the form https://example.org or "
                    f"http://localhost:3000, or be * for all sites; got {origin!r}."
                )
        self._app = app
        if self._origins:
            self._app = CORSMiddleware(
                app,
                self._origins,
                allow_methods=["POST", "GET"],
                allow_headers=["Content-Type"],
                allow_private_network=True,
            )

    async def __call__(self, scope, receive, send):
        """Rejects a request, or passes it on to the application."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        try:
            self.check(scope["method"], headers)
        except ServingError as error:
            response = reply({"error": error.message}, error.http_status)
            # The body has not been read, so the connection cannot be used again.
            response.headers["connection"] = "close"
            return await response(scope, receive, send)
        await self._app(scope, receive, send)

    def check(self, method, headers):
        """Raises a ServingError if a request breaks one of the rules.

        `headers` is a mapping from the lower-case names of the HTTP headers.
        """
        if "content-length" in headers and "transfer-encoding" in headers:
            raise ServingError(
                "INVALID_ARGUMENT",
                "The request has both Content-Length and Transfer-Encoding. Send only one of them.",
            )
        self._check_host(headers.get("host", ""))
        self._check_site(method, headers)
        is_browser = "origin" in headers or "sec-fetch-site" in headers
        if method in ("POST", "PUT", "PATCH") and is_browser:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in ("", "application/json"):
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"Browsers must send the content type application/json; got {kind[:100]}.",
                    415,
                )

    def _check_host(self, host):
        name = plain(host)
        if host and self._checks_host and name not in self._names and not is_address(name):
            raise ServingError(
                "PERMISSION_DENIED",
                f"This server does not accept requests for the host {name[:100]!r}, since web "
                "sites can point their names to this machine. If the name is correct, add it to "
                "the `allowed_hosts` of the server.",
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
                f"Pages from {asking} may not send requests to this server. To allow the pages of "
                "a site, add its address, such as https://example.org, to the `allowed_origins` of "
                "the server.",
            )


def is_own(origin, host):
    """Returns True if the origin of a page has the host and port of the `Host` header `host`."""
    try:
        page = urlsplit(origin.lower())
        asked = urlsplit(f"//{host.lower()}")
        port = PORTS.get(page.scheme)
        there = (page.hostname, page.port or port)
        here = (asked.hostname, asked.port or port)
    except ValueError:  # raised if the port is not a number
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
    """Returns True if a server on this address only accepts connections from this machine."""
    try:
        address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][4][0]
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except OSError:  # raised if the address does not exist; listening on it raises a clearer error
        return True
