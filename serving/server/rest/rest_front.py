"""RestFront: serves an ASGI application on an HTTP port."""

import asyncio
import functools
import logging

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tfreps.serving.server.requests.event_loop import on_loop
from tfreps.serving.server.requests.listening_socket import listening_socket

GOODBYE = 0.2  # seconds between checks of whether a connection can be closed
LAST_CALL = 0.5  # seconds of a shutdown in which new requests are still accepted
CLOSE = (b"connection", b"close")
# Maximum number of chunks in a request. Parsing a chunk takes 6 microseconds, during which no other
# request is answered.
MOST_CHUNKS = 2**16


class RestFront:
    """HTTP server for an ASGI application, based on uvicorn.

    The server listens on the port `port`, an attribute, and runs on `server_loop()`. It does not
    change the signal handlers or the logging of the process, except that uvicorn logs only errors.

    Args:
        app: ASGI application.
        options: `ServerOptions` with the host, the port and the TLS files.

    Raises:
        OSError: If the port cannot be opened, or a TLS file cannot be read.
    """

    def __init__(self, app, options):
        self._app = app
        self._clients = {}  # address -> WatchedProtocol
        self._is_ending = False
        config = uvicorn.Config(
            self._respond,
            http=functools.partial(
                WatchedProtocol, clients=self._clients, seconds=options.header_seconds
            ),
            interface="asgi3",
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ssl_certfile=options.tls_cert,
            ssl_keyfile=options.tls_key,
        )
        config.load()  # reads the TLS files, so that errors are raised here
        self._socket = listening_socket(options.host, options.rest_port, "REST")
        self.port = self._socket.getsockname()[1]
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self._server = uvicorn.Server(config)
        self._serving = None

    def start(self):
        """Starts to respond to requests."""
        on_loop(self._start())

    async def _start(self):
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not self._serving.done():
            await asyncio.sleep(0.005)
        if self._serving.done():
            raise OSError(
                f"The REST interface could not be started on port {self.port}. Choose another "
                "`rest_port`, or read the log of the server."
            )

    async def stop(self, timeout):
        """Rejects new connections, and waits up to `timeout` seconds for requests in progress.

        For a moment, requests still get a response, which asks the client to close the connection.
        """
        if self._serving is not None:
            self._is_ending = True
            await asyncio.sleep(min(LAST_CALL, timeout))
            self._server.config.timeout_graceful_shutdown = max(int(timeout), 1)
            self._server.should_exit = True
            while not self._serving.done():
                await asyncio.wait([self._serving], timeout=GOODBYE)
                for client in list(self._clients.values()):
                    client.leave()
        self._socket.close()

    async def _respond(self, scope, receive, send):
        """Passes a request to the application, and stops its client's time limit meanwhile."""
        client = self._clients.get(scope["client"])
        if client is None:  # it has disconnected
            return
        is_complete = False

        async def received():
            nonlocal is_complete
            client.is_sending = not is_complete
            message = await receive()
            is_complete = is_complete or not message.get("more_body")
            client.is_sending = not is_complete
            return message

        async def sent(message):
            if self._is_ending and message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), CLOSE]}
            await send(message)

        client.begin()
        try:
            await self._app(scope, received, sent)
        finally:
            client.end()


class WatchedProtocol(H11Protocol):
    """HTTP/1.1 protocol of uvicorn, with a time limit of `seconds` seconds for slow clients.

    While no request of the client is being handled, its connection is closed if the headers of the
    next request do not arrive in time, or if the client reads no part of a response for this time.
    While connected, the protocol is in the dict `clients`, under the address of its client.
    `is_sending` is `True` while the application waits for the body of a request.
    """

    def __init__(self, *args, clients, seconds, **kwargs):
        super().__init__(*args, **kwargs)
        self.conn = ChunkCounter(h11.SERVER)
        self.is_sending = False
        self._clients = clients
        self._seconds = seconds
        self._requests = 0  # number of requests that are being handled; a connection may be lost
        self._limit = None

    def send_400_response(self, msg):
        """Responds with HTTP status 400 to a request that is not valid or has too many chunks."""
        too_many = f"The request has more than {MOST_CHUNKS} chunks. Send larger chunks."
        super().send_400_response(too_many if self.conn.chunks > MOST_CHUNKS else msg)

    def connection_made(self, transport):
        """Starts the time limit for the first request of a new client."""
        super().connection_made(transport)
        self._address = tuple(transport.get_extra_info("peername") or ())[:2]
        self._clients[self._address] = self
        self.watch()

    def connection_lost(self, exc):
        """Stops the time limit after the client has disconnected."""
        self._clients.pop(self._address, None)
        self.begin()
        super().connection_lost(exc)

    def begin(self):
        """Stops the time limit, because a request has arrived or the connection was lost."""
        self._requests += 1
        self._limit.cancel()

    def end(self):
        """Starts the time limit again after the last request was handled."""
        self._requests -= 1
        if not self._requests:
            self.watch()

    def watch(self, unread=None):
        """Closes the connection if its buffer still has `unread` bytes or more.

        Otherwise, or if `unread` is `None`, the buffer is checked again after the time limit.
        """
        size = self.transport.get_write_buffer_size()
        if unread is not None and size >= unread:
            self.transport.abort()
        else:
            loop = asyncio.get_running_loop()
            self._limit = loop.call_later(self._seconds, self.watch, size)

    def leave(self):
        """Closes the connection if a request is incomplete, or if all data was sent.

        Closing a TLS connection without aborting it can take 30 seconds.
        """
        if self.is_sending:
            self.transport.close()
        elif self.transport.is_closing() and not self.transport.get_write_buffer_size():
            self.transport.abort()


class ChunkCounter(h11.Connection):
    """HTTP connection that raises an error if a request has more than `MOST_CHUNKS` chunks."""

    chunks = 0

    def next_event(self):
        """Returns the next event; raises an error if the request exceeds the limit of chunks."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.chunks = 0
        elif isinstance(event, h11.Data):
            self.chunks += event.chunk_start
            if self.chunks > MOST_CHUNKS:
                raise h11.RemoteProtocolError("too many chunks")
        return event
