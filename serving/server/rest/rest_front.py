"""RestFront: serves an ASGI application on an HTTP port."""

import asyncio
import logging

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tfreps.serving.server.requests.event_loop import on_loop
from tfreps.serving.server.requests.listening_socket import listening_socket

GOODBYE = 0.2  # seconds between checks of whether a connection can be closed
LAST_CALL = 0.5  # seconds of a shutdown in which new requests are still accepted
CLOSE = (b"connection", b"close")
MOST_CHUNKS = 2**16  # maximum number of chunks in a request; parsing a chunk takes 6 microseconds


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
        class Protocol(PatientProtocol):
            seconds = options.header_seconds

        config = uvicorn.Config(
            app,
            http=Protocol,
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
        self._server = EndingServer(config)
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
        """Rejects new connections, and waits up to `timeout` seconds for requests in progress."""
        self._server.config.timeout_graceful_shutdown = max(int(timeout), 1)
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving
        self._socket.close()


class EndingServer(uvicorn.Server):
    """Uvicorn server that adds `Connection: close` to its responses while it shuts down."""

    async def shutdown(self, sockets=None):
        """Closes the port. Requests on open connections are still accepted for 0.5 seconds."""
        self.config.http_protocol_class.is_ending = True
        self.server_state.default_headers = [*self.server_state.default_headers, CLOSE]
        await super().shutdown(sockets)


class PatientProtocol(H11Protocol):
    """HTTP/1.1 protocol of uvicorn with time limits for slow clients, and a limit of chunks.

    A connection is closed if the headers of a request do not arrive within `seconds` seconds, or if
    the client does not read any part of a response for the same time. A request with more than
    `MOST_CHUNKS` chunks is rejected with HTTP status 400.
    """

    seconds = 10.0
    is_ending = False
    is_lost = False
    _timer = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.conn = ChunkCounter(h11.SERVER)

    def send_400_response(self, msg):
        """Responds with HTTP status 400 to a request that is not valid or has too many chunks."""
        too_many = f"The request has more than {MOST_CHUNKS} chunks. Send larger chunks."
        super().send_400_response(too_many if self.conn.chunks > MOST_CHUNKS else msg)

    def connection_made(self, transport):
        """Starts the time limit for the first request of a new client."""
        super().connection_made(transport)
        self._expect_request()
        if self.is_ending:  # the client connected before the port was closed
            self.shutdown()

    def data_received(self, data):
        """Processes received bytes, and starts or stops the time limit for the next request."""
        super().data_received(data)
        self._expect_request()

    def on_response_complete(self):
        """Starts the time limit for the client to read the response in the transport's buffer."""
        super().on_response_complete()
        self._watch_buffer()

    def connection_lost(self, exc):
        """Stops the time limits after the client has disconnected."""
        self.is_lost = True
        self._forget()
        super().connection_lost(exc)

    def shutdown(self):
        """Closes the connection once the current request is finished.

        A request that arrives completely within 0.5 seconds is still handled. A connection that
        is idle or has an incomplete request after that time is closed.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.default_headers = [*self.cycle.default_headers, CLOSE]
        self.loop.call_later(LAST_CALL, self._drop_what_has_not_arrived)
        self._leave_when_done()

    def _drop_what_has_not_arrived(self):
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._close()

    def _close(self):
        """Closes the connection if it is open; closing a TLS transport of asyncio twice fails."""
        if not self.transport.is_closing():
            self.transport.close()

    def _leave_when_done(self):
        """Aborts a closing connection once all data is sent.

        Closing a TLS connection without aborting it can take 30 seconds.
        """
        if self.is_lost:
            return
        done = self.transport.is_closing() and not self.transport.get_write_buffer_size()
        next_step = self.transport.abort if done else self._leave_when_done
        self.loop.call_later(GOODBYE, next_step)

    def _watch_buffer(self):
        size = 0 if self.is_lost else self.transport.get_write_buffer_size()

        def look():
            if self.is_lost:
                return
            if self.transport.get_write_buffer_size() >= size:
                self.transport.abort()
            else:
                self._watch_buffer()

        if size:
            self.loop.call_later(self.seconds, look)

    def _expect_request(self):
        # A body that arrives after its response was sent has the same time limit as headers.
        is_awaited = self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE
        if not is_awaited:
            self._forget()  # the headers have arrived
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._give_up)

    def _give_up(self):
        self._close()
        self._watch_buffer()

    def _forget(self):
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


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
