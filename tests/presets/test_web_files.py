import hashlib
import multiprocessing
import re

import pytest

from tfreps._src.presets import web_files
from tfreps._src.presets.web_files import download_file, path_in_cache

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)


@pytest.fixture
def url(hub):
    hub.files["elmo/weights.hdf5"] = CONTENT
    return f"{hub.url}/files/elmo/weights.hdf5"


def names(path):
    return sorted(file.name for file in path.parent.iterdir() if not file.name.endswith(".lock"))


def test_a_file_is_downloaded_once(hub, url):
    path = download_file(url)
    assert path.read_bytes() == CONTENT and names(path) == ["weights.hdf5"]
    asked = list(hub.asked)
    assert download_file(url) == path and hub.asked == asked
    assert all("authorization" not in {n.lower() for n in sent} for sent in hub.headers)


def test_redirects_are_followed(hub, url):
    assert download_file(f"{hub.url}/redirect/elmo/weights.hdf5").read_bytes() == CONTENT


@pytest.mark.parametrize("kind", ["sha256", "sha1"])
def test_a_checksum_is_checked_before_the_file_has_its_name(hub, url, kind):
    digest = hashlib.new(kind, CONTENT).hexdigest()
    with pytest.raises(ValueError, match=f"its checksum is {digest}; expected 0") as error:
        download_file(url, "0" * len(digest))
    assert "\n" not in str(error.value)
    assert names(path_in_cache(url)) == []
    path = download_file(url, digest)
    path.write_bytes(b"damaged")  # in the cache
    assert download_file(url, digest).read_bytes() == CONTENT


def test_a_wrong_size_is_found_before_the_download(hub, url):
    with pytest.raises(ValueError, match="has 256,000 bytes; expected 256,001"):
        download_file(url, size=256_001)
    assert hub.downloads() == []


def test_a_cached_file_in_a_folder_that_cannot_be_written(hub, url, monkeypatch):
    path = download_file(url)

    def refuse(lock):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    assert download_file(url) == path


def test_a_cut_connection_is_resumed(hub, url):
    hub.cuts["/files/elmo/weights.hdf5"] = [100_000, 50_000]
    assert download_file(url).read_bytes() == CONTENT
    ranges = [sent["range"] for sent in hub.headers if "range" in sent]
    assert [int(r.split("=")[1].strip("-")) > 0 for r in ranges] == [True, True]


def test_a_connection_that_is_always_cut(hub, url):
    """The downloaded part is stored under another name, and the next call continues it."""
    hub.cuts["/files/elmo/weights.hdf5"] = [70_000] + [0] * 6
    with pytest.raises(ValueError, match="A partial download is resumed if"):
        download_file(url)
    [name] = names(path_in_cache(url))
    assert re.fullmatch(r"weights\.hdf5\.\w{8}\.incomplete", name)
    hub.asked.clear(), hub.headers.clear()
    assert download_file(url).read_bytes() == CONTENT
    assert (
        hub.headers[-1]["range"].startswith("bytes=") and "bytes=0-" not in hub.headers[-1]["range"]
    )
    assert names(path_in_cache(url)) == ["weights.hdf5"]


def test_a_file_that_changed_is_not_continued(hub, url):
    hub.cuts["/files/elmo/weights.hdf5"] = [70_000] + [0] * 6
    with pytest.raises(ValueError, match="cannot be downloaded"):
        download_file(url)
    hub.files["elmo/weights.hdf5"] = CONTENT[::-1]
    assert download_file(url).read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("has_head", [True, False])
def test_a_part_that_is_longer_than_the_file(hub, url, monkeypatch, has_head):
    """A server answers a request for the bytes after the end of a file with 416."""
    if not has_head:
        monkeypatch.setattr(web_files, "_size_and_tag", lambda url: (None, "tag"))
    hub.cuts["/files/elmo/weights.hdf5"] = [70_000] + [0] * 6
    with pytest.raises(ValueError, match="cannot be downloaded"):
        download_file(url)
    [name] = names(path_in_cache(url))
    path_in_cache(url).with_name(name).write_bytes(CONTENT + b"more")
    assert download_file(url).read_bytes() == CONTENT
    assert names(path_in_cache(url)) == ["weights.hdf5"]


PAGE = b"\n<!DOCTYPE html>\n<html><body>Too many requests</body></html>"


def test_a_page_in_place_of_the_file(hub, url):
    hub.files["elmo/weights.hdf5"] = PAGE
    with pytest.raises(ValueError, match="the server sent a web page in place of the file"):
        download_file(url)
    assert names(path_in_cache(url)) == []
    hub.files |= {"elmo/weights.hdf5": CONTENT, "elmo/page.html": PAGE}
    assert download_file(url).read_bytes() == CONTENT
    assert download_file(url.replace("weights.hdf5", "page.html")).read_bytes() == PAGE


def test_a_server_without_ranges_starts_again(hub, url):
    path = "/files/elmo/weights.hdf5"
    hub.no_ranges.add(path)
    hub.cuts[path] = [100_000]
    assert download_file(url).read_bytes() == CONTENT


def _download_after(barrier, url):
    barrier.wait()
    assert download_file(url).read_bytes() == CONTENT


def test_processes_at_once_download_once(hub, url):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    other = context.Process(target=_download_after, args=(barrier, url))
    other.start()
    _download_after(barrier, url)
    other.join()
    assert other.exitcode == 0 and len(hub.downloads()) == 1


@pytest.mark.parametrize("name", ["a b.hdf5", "größe.hdf5", "[x]*?.hdf5"])
def test_names_with_spaces_and_other_letters(hub, name):
    hub.files[f"elmo/{name}"] = b"content"
    path = download_file(f"{hub.url}/files/elmo/{web_files.urllib.parse.quote(name)}")
    assert path.name == name and path.read_bytes() == b"content"


@pytest.mark.parametrize(
    "url",
    [
        "https://host/",
        "https:///x",
        "ftp://host/x",
        "https://host/a/..",
        "https://h/a%0Ab",
        "https://h/a%00",
    ],
)
def test_urls_that_name_no_file(url):
    with pytest.raises(ValueError, match="must have the form https://host/path/file"):
        path_in_cache(url)


def test_names_cannot_leave_the_folder():
    path = path_in_cache("https://host/a/..%2F..%2Fetc%2Fpasswd")
    assert path.name == "passwd" and path.parent.parent.name == "urls"
