"""ServerOptions and BatchOptions: addresses, permissions and all limits of a server."""

import dataclasses
import os

MEGABYTE = 2**20


@dataclasses.dataclass(frozen=True)
class BatchOptions:
    """Options for merging requests into batches.

    Args:
        max_batch_size: int. Maximum number of rows in a batch, where each text is a row. If 0 or 1,
            requests are not merged. Defaults to 64.
        batch_timeout_ms: float. Milliseconds that a batch waits for more requests when a thread is
            free to run it. If 0, only requests that wait for a thread are merged, so that a single
            request is not delayed. Defaults to 0.0.
        num_batch_threads: int. Maximum number of batches that run concurrently. Defaults to 1.
        max_queue_size: int. Maximum number of requests that wait to be merged. Further requests are
            rejected with UNAVAILABLE. Defaults to 1,000.

    Example:
    >>> BatchOptions(max_batch_size=16).batch_timeout_ms
    0.0
    """

    max_batch_size: int = 64
    batch_timeout_ms: float = 0.0
    num_batch_threads: int = 1
    max_queue_size: int = 1_000


@dataclasses.dataclass
class ServerOptions:
    """Options of a `ModelServer`: addresses, limits and permissions.

    Args:
        host: str. The address to listen on. Defaults to `"127.0.0.1"`, so that only connections
            from this machine are accepted.
        rest_port: int. The port of the REST interface. 0 selects a free port. If `None`, there is
            no REST interface. Defaults to 8501.
        grpc_port: int. The port of the gRPC interface. 0 selects a free port. If `None`, there is
            no gRPC interface. Defaults to 8500.
        poll_seconds: float. Seconds between searches for new versions. If 0, versions are only
            searched for at startup. Defaults to 1.0.
        batching: `BatchOptions` for merging requests. Defaults to `BatchOptions()`.
        max_requests: int. Maximum number of requests in progress. Further requests are rejected
            with UNAVAILABLE (503). Defaults to 256.
        timeout_seconds: float. Time limit of a request in seconds, after which it fails with
            DEADLINE_EXCEEDED (504). Defaults to 60.0.
        header_seconds: float. Time limit in seconds for the headers of an HTTP request to arrive,
            after which the connection is closed. Defaults to 10.0.
        max_message_mb: int. Maximum size of a gRPC request in MiB. Larger requests are rejected
            with RESOURCE_EXHAUSTED. Values above 2,047 set the limit to 2**31 - 1 bytes. Defaults
            to 2,047.
        max_body_mb: int. Maximum size of the body of a REST request in MiB. Larger bodies are
            rejected with HTTP status 413. Defaults to 16.
        max_elements: int. Maximum number of elements of an input array, and of values in the body
            of a REST request, where an array or object counts as 16. Defaults to 2**20.
        max_text_mb: int. Maximum total size in MiB of the texts of an input, after they are padded
            to the length of the longest and to at least 64 bytes. Defaults to 16.
        max_tokens: int. Maximum number of tokens in a request, after all texts are padded to the
            length of the longest. Defaults to 2**14.
        max_text_tokens: int. Maximum number of tokens in a single text. Defaults to 2**12.
        max_response_mb: int. Maximum size of a response in MiB. Defaults to 128.
        tls_cert: str or path-like. PEM file with the TLS certificate of both interfaces. If `None`,
            TLS is not used, and `tls_key` must be `None`, too. Defaults to `None`.
        tls_key: str or path-like. PEM file with the private key of the certificate. If `None`, the
            key is read from the file `tls_cert`. Defaults to `None`.
        allowed_hosts: tuple of str. Names that the `Host` header may contain, in addition to IP
            addresses, `localhost` and `host`. Defaults to `()`.
        allowed_origins: tuple of str. Web sites such as `"https://example.org"` whose pages may
            send requests from a browser. `"*"` allows all sites. Defaults to `()`.
        allow_file_ops: bool. Whether to load models that use files, the network or Python. Defaults
            to `False`.

    Raises:
        ValueError: If `tls_key` is given without `tls_cert`.
    """

    host: str = "127.0.0.1"
    rest_port: int | None = 8501
    grpc_port: int | None = 8500
    poll_seconds: float = 1.0
    batching: BatchOptions = dataclasses.field(default_factory=BatchOptions)
    max_requests: int = 256
    timeout_seconds: float = 60.0
    header_seconds: float = 10.0
    max_message_mb: int = 2_047
    max_body_mb: int = 16
    max_elements: int = 2**20
    max_text_mb: int = 16
    max_tokens: int = 2**14
    max_text_tokens: int = 2**12
    max_response_mb: int = 128
    tls_cert: str | os.PathLike[str] | None = None
    tls_key: str | os.PathLike[str] | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    allow_file_ops: bool = False

    def __post_init__(self) -> None:
        if self.tls_key is not None and self.tls_cert is None:
            raise ValueError(
                "`tls_key` requires `tls_cert`, the path of the certificate; got `tls_key` "
                f"{os.fspath(self.tls_key)} without `tls_cert`. Give both."
            )
