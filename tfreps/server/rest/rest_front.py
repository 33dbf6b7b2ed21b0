"""RestFront: serves an ASGI application on an HTTP port, in a thread of its own."""

import logging
import socket
import threading
import time

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

START_SECONDS = 30
GOODBYE = 0.2  # seconds between looks whether a connection is done
LAST_CALL = 0.5  # seconds in which a request that was on its way at the end may still arrive
CLOSE = (b"connection", b"close")


class RestFront:
    """Runs uvicorn on a port, without touching the signals and logs of the process.

    Args:
        app: an ASGI application.
        host: address to listen on.
        port: 0 for a free one.
        header_seconds: a connection whose next request is not complete by then (but for its body)
            is closed, so that slow clients take no place for ever.
        cert, key: PEM files for TLS, or None.

    Attributes:
        port: the one it listens on.

    Raises:
        OSError: the port cannot be had, or a file is missing.
    """

    def __init__(self, app, host, port, header_seconds=10.0, cert=None, key=None):
        class Protocol(PatientProtocol):
            seconds = header_seconds

        self._socket = listening(host, port)
        self.port = self._socket.getsockname()[1]
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
            ssl_certfile=cert,
            ssl_keyfile=key,
        )
        config.load()
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self._server = EndingServer(config)
        self._thread = threading.Thread(target=self._run, name="tfreps-rest", daemon=True)

    def start(self):
        """Begins to answer.

        Raises:
            OSError: it does not.
        """
        self._thread.start()
        until = time.monotonic() + START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                raise OSError(f"The REST interface does not start on port {self.port}.")
            time.sleep(0.005)

    def ask_to_stop(self, seconds):
        """Accepts no new connections; requests that have arrived get so many seconds."""
        self._server.config.timeout_graceful_shutdown = max(int(seconds), 1)
        self._server.should_exit = True

    def stop(self, seconds):
        """Does the same as `ask_to_stop`, and returns when all requests have ended."""
        self.ask_to_stop(seconds)
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()

    def _run(self):
        self._server.run(sockets=[self._socket])


class EndingServer(uvicorn.Server):
    """uvicorn's server; sends `Connection: close` with the last answer of each connection."""

    async def shutdown(self, sockets=None):
        """Closes the port; connections accept the requests that arrive within `LAST_CALL`."""
        self.config.http_protocol_class.is_ending = True
        self.server_state.default_headers = [*self.server_state.default_headers, CLOSE]
        await super().shutdown(sockets)


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol, with time limits for slow clients.

    A connection ends when a request does not get complete in time, or when nothing of an answer
    is taken for as long; so that neither takes place and memory for ever.
    """

    seconds = 10.0
    is_ending = False
    is_lost = False
    _timer = None

    def connection_made(self, transport):
        """Starts to wait for the first request of a new client."""
        super().connection_made(transport)
        self._expect_request()
        if self.is_ending:  # it had come before the port was closed
            self.shutdown()

    def data_received(self, data):
        """Takes more bytes of a request."""
        super().data_received(data)
        self._expect_request()

    def on_response_complete(self):
        """An answer is written: into the transport's buffer, which the client has to empty."""
        super().on_response_complete()
        self._watch_buffer()

    def connection_lost(self, exc):
        """Notes that the client is gone."""
        self.is_lost = True
        self._forget()
        super().connection_lost(exc)

    def shutdown(self):
        """The server stops: the connection ends with the request that has arrived, if one has.

        One that is on its way may still arrive, for half a second; a half of one is dropped.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.default_headers = [*self.cycle.default_headers, CLOSE]
        self.loop.call_later(LAST_CALL, self._drop_what_has_not_arrived)
        self._leave_when_done()

    def _drop_what_has_not_arrived(self):
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._close()

    def _close(self):
        """Closes the connection once: asyncio's transports for TLS break when closed again."""
        if not self.transport.is_closing():
            self.transport.close()

    def _leave_when_done(self):
        """Under TLS a client could take 30 seconds to say goodbye: nothing is left to send."""
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
        # A body that still comes when its answer has been sent is awaited as a request is.
        is_awaited = self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE
        if not is_awaited:
            self._forget()  # the head of a request is there: now it is the application's
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._give_up)

    def _give_up(self):
        self._close()
        self._watch_buffer()

    def _forget(self):
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def listening(host, port):
    """Opens a socket that listens, even on a port that a server has just left.

    It says that it is TCP, without which asyncio lets small answers wait 40 ms for larger ones.
    """
    family, kind, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    found = socket.socket(family, kind, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(1024)
    except OSError as error:
        found.close()
        raise OSError(error.errno, f"Cannot listen on {host}:{port} for REST: {error}") from error
    return found
