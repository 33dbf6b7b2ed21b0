"""download_file: downloads a file from a URL into the cache, once."""

import functools
import glob
import hashlib
import os
import pathlib
import urllib.parse

from huggingface_hub.utils import get_session, hf_raise_for_status

from tfreps._src.files.disk_errors import check_space, naming
from tfreps._src.files.file_hash import file_hash
from tfreps._src.presets.cache_folder import folder_of, missing
from tfreps._src.presets.connection_errors import naming_source

TIMEOUT = 10  # maximum number of seconds until a server responds to the first request
HINT = (
    "Check the address and the connection, and try again. A partial download is resumed if the "
    "server supports this."
)
PAGES = ".html", ".htm"
PLAIN = {"accept-encoding": "identity"}  # responses are not compressed, so their size is known


def download_file(
    url: str,
    checksum: str | None = None,
    size: int | None = None,
    path: str | os.PathLike[str] | None = None,
) -> pathlib.Path:
    """Downloads a file, or returns the file that was downloaded before.

    The file gets its final name only when it is complete. An interrupted download is resumed by the
    next call if the server supports this and the file on the server has not changed. The progress
    bar, retries and timeouts are those of `huggingface_hub`. With `HF_HUB_OFFLINE=1`, nothing is
    downloaded.

    Args:
        url: str. URL of the file.
        checksum: str. SHA-256, SHA-1 or MD5 in hexadecimal digits, which each call compares with
            the file. If `None`, the file is not checked. Defaults to `None`.
        size: int. Expected size of the file in bytes. If `None`, any size is accepted. Defaults to
            `None`.
        path: str or path-like. Path of the local file. If `None`, it is `path_in_cache(url)`.
            Defaults to `None`.

    Returns:
        `pathlib.Path`. The local file.

    Raises:
        ValueError: If the download fails, or the file has an unexpected size or checksum.
        OSError: If the file cannot be written, such as on a full disk.
    """
    path = pathlib.Path(path or path_in_cache(url))
    with missing(path, functools.partial(_is_right, checksum=checksum)) as is_missing:
        if is_missing:
            _download(url, path, checksum, size)
    return path


def path_in_cache(url: str) -> pathlib.Path:
    """Returns the path in the cache at which the file from a URL is stored.

    Files whose URLs differ only in the file name are stored in the same folder.
    """
    parts = urllib.parse.urlsplit(url)
    parent, _, name = urllib.parse.unquote(parts.path).rpartition("/")
    is_name = name not in ("", ".", "..") and name.isprintable()
    if parts.scheme not in ("http", "https") or not parts.netloc or not is_name:
        raise ValueError(f"The URL of a file must have the form https://host/path/file; got {url}.")
    query = "" if parts.query in ("", "raw=1", "download=1") else f"?{parts.query}"
    folder = folder_of("urls", f"{parts.scheme}://{parts.netloc}{parent}{query}")
    return folder / name.replace("\\", "_")


def _download(url: str, path: pathlib.Path, checksum: str | None, size: int | None) -> None:
    from huggingface_hub.file_download import http_get  # only downloads need this slow import

    with naming_source(url, "downloaded", HINT):
        found, tag = _size_and_tag(url)
    if None not in (size, found) and size != found:
        raise ValueError(
            f"{url} has {found:,} bytes; expected {size:,}. The file on the server has changed or "
            "is damaged. Use another source."
        )
    state = hashlib.sha256(repr((tag, found, checksum)).encode()).hexdigest()[:8]
    partial = path.with_name(f"{path.name}.{state}.incomplete")
    for other in path.parent.glob(f"{glob.escape(path.name)}.*.incomplete"):
        # Without an ETag or checksum, the file may have changed.
        if other != partial or not (tag or checksum):
            other.unlink()
    with naming(path):
        have = partial.stat().st_size if partial.exists() else 0
        # A download cannot be resumed if the size of the file is unknown or exceeded.
        if found is None or have > found:
            partial.unlink(missing_ok=True)
            have = 0
        check_space(path, (found or 0) - have)
        with naming_source(url, "downloaded", HINT), open(partial, "ab") as file:
            sizes = {"resume_size": have, "expected_size": found}
            http_get(url, file, **sizes, headers=PLAIN, displayed_filename=path.name)
    if checksum is not None and not _is_right(partial, checksum):
        got = file_hash(partial, _algorithm(checksum))
        partial.unlink()
        raise ValueError(
            f"{url} does not have the expected content: its checksum is {got}; expected "
            f"{checksum}. The file on the server has changed, or the download was damaged. The "
            "downloaded file was removed; try again, or use another source."
        )
    if checksum is None and _is_page(partial) and path.suffix not in PAGES:
        partial.unlink()
        raise ValueError(
            f"{url} cannot be downloaded: the server sent a web page in place of the file. {HINT}"
        )
    os.replace(partial, path)


def _is_page(path: pathlib.Path) -> bool:
    with open(path, "rb") as file:
        return file.read(1024).lstrip().lower().startswith((b"<!doctype html", b"<html"))


def _size_and_tag(url: str) -> tuple[int | None, str | None]:
    """Returns the size in bytes and the ETag of the file at a URL, as the server states them.

    A value that the server does not state is `None`.
    """
    response = get_session().head(url, follow_redirects=True, timeout=TIMEOUT, headers=PLAIN)
    if response.status_code in (403, 405, 501):  # some servers do not support HEAD requests
        return None, None
    hf_raise_for_status(response)
    size = response.headers.get("content-length")
    return int(size) if size and size.isdigit() else None, response.headers.get("etag")


def _is_right(path: pathlib.Path, checksum: str | None) -> bool:
    if checksum is None or not path.is_file():
        return path.is_file()
    return file_hash(path, _algorithm(checksum)) == checksum.lower()


def _algorithm(checksum: str) -> str:
    return {32: "md5", 40: "sha1"}.get(len(checksum), "sha256")
