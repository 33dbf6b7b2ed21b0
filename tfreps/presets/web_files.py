"""download: downloads a file from a URL into the cache, once."""

import contextlib
import hashlib
import os
import pathlib
import re
import urllib.parse
from collections.abc import Iterator

from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.utils import get_session, hf_raise_for_status

from tfreps.files.disk_errors import check_space, naming
from tfreps.presets.cache_folder import folder_of, locked

TIMEOUT = 10  # seconds until a server must answer the first request


def download(
    url: str,
    checksum: str | None = None,
    size: int | None = None,
    path: str | os.PathLike | None = None,
) -> pathlib.Path:
    """Downloads a file, or returns the file that was downloaded before.

    The file gets its final name only when it is complete. An interrupted download is resumed by
    the next call if the server supports this and the file on the server has not changed. The
    progress bar, retries and timeouts are those of `huggingface_hub`. With `HF_HUB_OFFLINE=1`,
    nothing is downloaded.

    Args:
        url: str. URL of the file, with `http` or `https`.
        checksum: str. SHA-256 or SHA-1 of the file in hexadecimal digits, which is compared with
            the file in each call. If `None`, the file is not checked. Defaults to `None`.
        size: int. Size of the file in bytes. If `None`, the size is not checked. Defaults to
            `None`.
        path: str or path-like. Path at which the file is stored. If `None`, the file is stored in
            `cache_folder()`. Defaults to `None`.

    Returns:
        `pathlib.Path`. The file.

    Raises:
        ValueError: If the URL is not valid, if the server does not answer or has no such file, if
            the size or the checksum is not the expected one, if `HF_HUB_OFFLINE` is set and the
            file has not been downloaded, or if its folder cannot be written to.
        OSError: If there is no room on the disk.
    """
    path = pathlib.Path(path or cached_path(url))
    if path.is_file() and _is_right(path, checksum):
        return path
    with locked(path):
        if not (path.is_file() and _is_right(path, checksum)):  # another process was faster
            _download(url, path, checksum, size)
    return path


def cached_path(url: str) -> pathlib.Path:
    """Returns the path in the cache for a URL. Files from one folder are stored in one folder.

    Raises:
        ValueError: If the URL does not have the form `https://host/path/file`.

    Example:
    >>> cached_path("https://host/elmo/small_options.json?raw=1").name
    'small_options.json'
    """
    parts = urllib.parse.urlsplit(url)
    parent, _, name = urllib.parse.unquote(parts.path).rpartition("/")
    if parts.scheme not in ("http", "https") or not parts.netloc or name in ("", ".", ".."):
        raise ValueError(f"The URL of a file must have the form https://host/path/file; got {url}.")
    query = "" if parts.query in ("", "raw=1", "download=1") else f"?{parts.query}"
    folder = folder_of("urls", f"{parts.scheme}://{parts.netloc}{parent}{query}")
    return folder / name.replace("\\", "_")


def _download(url: str, path: pathlib.Path, checksum: str | None, size: int | None) -> None:
    from huggingface_hub.file_download import http_get  # only downloads need this slow import

    with _explained(url):
        found, tag = _ask(url)
    if None not in (size, found) and size != found:
        raise ValueError(
            f"{url} has {found:,} bytes; expected {size:,}. The file on the server has changed or "
            "is damaged."
        )
    partial = path.with_name(f"{path.name}.{_key(tag, found, checksum)}.incomplete")
    for other in path.parent.glob(f"{_escaped(path.name)}.*.incomplete"):
        if other != partial or not (tag or checksum):
            other.unlink()
    with naming(path):
        check_space(path, (found or 0) - (partial.stat().st_size if partial.exists() else 0))
        with _explained(url), open(partial, "ab") as file:
            http_get(
                url,
                file,
                resume_size=file.tell(),
                expected_size=found,
                headers={"accept-encoding": "identity"},
                displayed_filename=path.name,
            )
    if not _is_right(partial, checksum):
        got = _digest(partial, checksum)
        partial.unlink()
        raise ValueError(
            f"{url} does not have the expected content: its checksum is {got}; expected "
            f"{checksum}. The file on the server has changed, or the download was damaged. The "
            "downloaded file was removed; try again, or use another source."
        )
    os.replace(partial, path)


def _ask(url: str) -> tuple[int | None, str | None]:
    """Returns the size and the ETag of the file at a URL, each of which is `None` if unknown."""
    answer = get_session().head(
        url,
        follow_redirects=True,
        timeout=TIMEOUT,
        headers={"accept-encoding": "identity"},
    )
    if answer.status_code in (403, 405, 501):  # some servers answer GET alone
        return None, None
    hf_raise_for_status(answer)
    size = answer.headers.get("content-length")
    return int(size) if size and size.isdigit() else None, answer.headers.get("etag")


@contextlib.contextmanager
def _explained(url: str) -> Iterator[None]:
    """Context manager that raises errors of the connection as short ValueErrors."""
    try:
        yield
    except OfflineModeIsEnabled as error:
        raise ValueError(
            f"{url} has not been downloaded yet, and HF_HUB_OFFLINE is set. Unset it, or pass the "
            "path of a local copy."
        ) from error
    except HfHubHTTPError as error:
        code = error.response.status_code if error.response is not None else "without a status"
        raise ValueError(f"{url} cannot be downloaded: the server answered {code}.") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise
        if not isinstance(error, OSError) and "http" not in type(error).__module__:
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{url} cannot be downloaded: {reason[:200]}. Check the address and the connection, "
            "and try again. A partial download is resumed if the server supports this."
        ) from error


def _key(*parts) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def _escaped(name: str) -> str:
    """Escapes the characters of a file name that have a special meaning in patterns."""
    return re.sub(r"([\[*?])", r"[\1]", name)


def _digest(path: pathlib.Path, like: str) -> str:
    digest = hashlib.sha1() if len(like) == 40 else hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _is_right(path: pathlib.Path, checksum: str | None) -> bool:
    return checksum is None or _digest(path, checksum) == checksum.lower()
