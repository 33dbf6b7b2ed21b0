"""naming_source: reports errors of downloads and uploads in one sentence that names the source."""

import contextlib
import http.client
from collections.abc import Iterator, Mapping

from huggingface_hub.errors import (
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
)

# The bases of the Hub's error include the error of the HTTP client, which is another package in
# other versions of huggingface_hub.
CONNECTION_ERRORS = (OSError, http.client.HTTPException, *HfHubHTTPError.__bases__)

HUB = "the Hub"
LOGIN = "Log in with `hf auth login` or set HF_TOKEN."


@contextlib.contextmanager
def naming_source(
    source: str,
    done: str,
    hint: str,
    server: str = "the server",
    sentences: Mapping[type[Exception], str] | None = None,
) -> Iterator[None]:
    """Context manager that converts connection errors to ValueErrors that name the source.

    Errors of the disk are not changed.

    Args:
        source: str. The address that is downloaded, or to which files are uploaded.
        done: str. `"downloaded"` or `"uploaded"`.
        hint: str. Advice at the end of the message.
        server: str. Name of the server in the message. Defaults to `"the server"`.
        sentences: dict from classes of errors to str. For an error of such a class, the message
            consists of the source and the str, which begins with a verb. Defaults to `None`.
    """
    try:
        yield
    except Exception as error:
        for kind, sentence in (sentences or {}).items():
            if isinstance(error, kind):
                raise ValueError(f"{source} {sentence}") from error
        is_of_disk = None not in (getattr(error, "errno", None), getattr(error, "filename", None))
        if is_of_disk or not isinstance(error, CONNECTION_ERRORS):
            raise
        reason, hint = _reason(error, server, hint)
        raise ValueError(f"{source} cannot be {done}: {reason}. {hint}") from error


def _reason(error: BaseException | None, server: str, hint: str) -> tuple[str, str]:
    """Returns two parts of the message for a connection error: the reason, and the advice.

    The reason is a clause such as `"the server responded with 404"`. The advice is `hint`, unless
    the error requires other advice.
    """
    if isinstance(error, LocalEntryNotFoundError):
        cause, own = error.__cause__, f"{server} does not respond"
        if isinstance(cause, OfflineModeIsEnabled) or getattr(cause, "response", None) is not None:
            own, hint = _reason(cause, server, hint)
        return f"it is not completely in the cache, and {own}", hint
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set", "Unset it, or pass the path of a local copy."
    code = getattr(getattr(error, "response", None), "status_code", None)
    if code is None:
        text = " ".join(str(error).split()).rstrip(".")[:200]
        return text or type(error).__name__, hint
    hint = LOGIN if server == HUB and code in (401, 403) else hint
    return f"{server} responded with {code}", hint
