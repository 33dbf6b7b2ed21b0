"""connect: opens a client for a served model."""

import contextlib
import os
from collections.abc import Iterator

from tfreps.serving.server.model_client import TIMEOUT, ModelClient


def connect(
    host: str,
    port: int | None,
    is_grpc: bool,
    timeout: float = TIMEOUT,
    ca_file: str | os.PathLike[str] | None = None,
) -> ModelClient:
    """Returns a client for the gRPC interface of a server if `is_grpc`, otherwise for REST.

    With `ca_file`, a PEM file with the certificate to trust, the connection uses TLS.
    """
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    with needs_extra("client"):
        if is_grpc:
            from tfreps.serving.server.grpc.grpc_client import GrpcClient

            return GrpcClient(address, timeout, ca_file)
        from tfreps.serving.server.rest.rest_client import RestClient

        return RestClient(f"{'https' if ca_file else 'http'}://{address}", timeout, ca_file)


@contextlib.contextmanager
def needs_extra(what: str) -> Iterator[None]:
    """Context manager in which a package that is not installed raises a ValueError.

    `what` names the program that needs the package, `"server"` or `"client"`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ValueError(
            f"The {what} needs the module {error.name}, which is not installed. In a checkout of "
            "tfreps, run pip install '.[serving]'."
        ) from None
