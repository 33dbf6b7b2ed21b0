"""listening_socket: opens the socket of a port, with an error that names the option to change."""

import errno
import socket

PORT_TAKEN = errno.EADDRINUSE, errno.EACCES


def listening_socket(host: str, port: int, interface: str) -> socket.socket:
    """Opens a socket that accepts connections, even on a port that a server has just closed.

    The protocol is set to TCP explicitly, because asyncio would otherwise delay small responses by
    40 ms. `interface` is `"REST"` or `"gRPC"`, for the OSError that is raised if the port is in use
    or `host` is not an address of this machine.
    """
    found = None
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(1024)
    except OSError as error:
        if found is not None:
            found.close()
        remedy = "Set `host` to an address of this machine."
        if error.errno in PORT_TAKEN:
            option = f"{interface.lower()}_port"
            remedy = f"Choose another port with `{option}`, where 0 chooses a free one."
        message = f"Cannot listen on {host}:{port} for {interface}: {error.strerror}. {remedy}"
        raise OSError(error.errno, message) from error
    return found
