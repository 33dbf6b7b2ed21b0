"""Zip and tar archives are extracted once, and nothing is left of a damaged one."""

import bz2
import gzip
import io
import stat
import tarfile
import zipfile

import pytest

from tfreps._src.presets import archives
from tfreps._src.presets.archives import unpack

CONTENT = bytes(range(256)) * 50
of_each_format = pytest.mark.parametrize("name", ["a.zip", "a.tgz", "a.tar.gz", "a.tar.bz2"])
of_tars = pytest.mark.parametrize("name", ["a.tgz", "a.tar.bz2"])


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    return tmp_path / "keras/tfreps/zips"


def archive(path, members, stored=False, form=tarfile.GNU_FORMAT):
    """Writes an archive of a dict from names to contents, and returns its path."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", 0 if stored else zipfile.ZIP_DEFLATED) as file:
            for name, content in members.items():
                file.writestr(name, content)
        return path
    with tarfile.open(path, f"w:{path.suffix[1:].replace('tgz', 'gz')}", format=form) as file:
        for name, content in members.items():
            file.addfile(entry(name, size=len(content)), io.BytesIO(content))
    return path


def entry(name, kind=tarfile.REGTYPE, **facts):
    found = tarfile.TarInfo(name)
    found.type = kind
    for key, value in facts.items():
        setattr(found, key, value)
    return found


def refused(path, message, cache):
    """Asserts that an archive raises a ValueError, and that no folder is left in the cache."""
    with pytest.raises(ValueError, match=message):
        unpack(path)
    assert not cache.exists() or not [item for item in cache.iterdir() if item.is_dir()]


@of_each_format
def test_files_are_extracted_once(tmp_path, cache, name):
    path = archive(tmp_path / name, {"options.json": b"{}", "sub/größe x.txt": b"x"})
    folder = unpack(path)
    assert (folder / "sub/größe x.txt").read_text() == "x"
    (folder / "options.json").write_text("kept")
    assert unpack(path) == folder and (folder / "options.json").read_text() == "kept"
    assert [item.name for item in cache.iterdir() if item.is_dir()] == [folder.name]
    archive(path, {"options.json": b"another", "vocab.txt": CONTENT})
    assert (unpack(path) / "options.json").read_text() == "another"


@of_each_format
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_only_folder_is_the_model(tmp_path, name, form):
    """The files that macOS adds do not count."""
    inner = "configs/" * 20 + "größe.json"
    files = {"zhs.model/config.json": b"{}", f"zhs.model/{inner}": b"[]"}
    macos = [
        "zhs.model/._config.json",
        "zhs.model/.DS_Store",
        ".DS_Store",
        "__MACOSX/zhs.model/._a",
    ]
    folder = unpack(archive(tmp_path / name, {**files, **dict.fromkeys(macos, b"x")}, form=form))
    assert folder.name == "zhs.model"
    found = {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    assert found == {"config.json": b"{}", inner: b"[]"}


@pytest.mark.parametrize(
    "member", ["../x", "a/../../x", "/etc/x", "C:/x", "C:x", "a\\..\\x", "..", "a/..", "a\nx"]
)
@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_names_that_leave_the_folder(tmp_path, cache, name, member):
    path = archive(tmp_path / name, {"options.json": b"{}", member: b"x"})
    refused(path, "which is not a safe path: ", cache)
    assert not (tmp_path / "x").exists() and not (tmp_path / "keras/x").exists()


def test_an_empty_name(tmp_path, cache):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr(zipfile.ZipInfo(""), "x")
    message = "a.zip contains '', which is not a safe path: it is emp"
    refused(tmp_path / "a.zip", message, cache)


def test_links_in_zip_files(tmp_path, cache):
    info = zipfile.ZipInfo("weights.hdf5")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr(info, "/etc/passwd")
    refused(tmp_path / "a.zip", "contains the link 'weights.hdf5'", cache)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_tar_files(tmp_path, cache, kind):
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as file:
        file.addfile(entry("encoder.pkl", kind, linkname="/etc/passwd"))
    refused(tmp_path / "a.tgz", "contains the link 'encoder.pkl'", cache)


@of_each_format
def test_bombs(tmp_path, cache, monkeypatch, name):
    path = archive(tmp_path / name, {"weights.hdf5": bytes(10_000_000)})
    refused(path, "would unpack to 1 files and 10,000,000 bytes", cache)
    monkeypatch.setattr(archives, "MOST_MEMBERS", 2)
    path = archive(tmp_path / name, {str(n): b"x" for n in range(3)})
    refused(path, "would unpack to 3 files", cache)


@of_tars
def test_bytes_after_the_end_of_a_tar_archive(tmp_path, cache, name):
    opened = gzip.open if name.endswith("tgz") else bz2.open
    with opened(tmp_path / name, "wb") as file:
        file.write(tarfile.TarInfo("a").tobuf() + bytes(1024) + bytes(10_000_000))
    refused(tmp_path / name, "would unpack to 0 files and", cache)


def test_sizes_that_lie(tmp_path, cache):
    """The size in the directory is smaller than the content: extraction stops with an error."""
    path = archive(tmp_path / "a.zip", {"a.txt": b"x" * 1000}, stored=True)
    size = (1000).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size + size, (10).to_bytes(4, "little") * 2))
    refused(path, "cannot be extracted: ", cache)


@of_each_format
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_part_of_an_archive(tmp_path, cache, name, share):
    path = archive(tmp_path / name, {"a": CONTENT, "b": CONTENT})
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    refused(path, "cannot be extracted: .*download it again", cache)


def test_an_archive_without_its_middle(tmp_path, cache):
    path = archive(tmp_path / "a.zip", {"a": b"x" * 999, "b": b"y" * 999}, stored=True)
    content = path.read_bytes()
    path.write_bytes(content[:100] + content[1900:])
    refused(path, "cannot be extracted: .*download it again", cache)


@pytest.mark.parametrize(
    "name, place, message",
    [("a.zip", 100, "Bad CRC-32"), ("a.tgz", -6, ""), ("a.tar.bz2", -6, "")],
)
def test_a_changed_byte(tmp_path, cache, name, place, message):
    path = archive(tmp_path / name, {"a": CONTENT}, stored=True)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    refused(path, f"cannot be extracted: {message}", cache)


def test_an_encrypted_archive(tmp_path, cache):
    path = archive(tmp_path / "a.zip", {"a": b"x"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    refused(path, "must not be encrypted, .* Extract the archive yourself", cache)


@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_a_full_disk(tmp_path, cache, monkeypatch, name):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archives.shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space left"):
        unpack(archive(tmp_path / name, {"a": b"x"}))
    assert not [item for item in cache.iterdir() if item.is_dir()]


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_are_not_read_as_a_whole(tmp_path, kind):
    header = entry("long", kind, size=1 << 32).tobuf()
    with gzip.open(tmp_path / "a.tgz", "wb") as file:
        file.write(header + bytes(1024))
    with pytest.raises(
        ValueError, match="cannot be extracted: a header in the archive has 4,294,967,296 bytes"
    ):
        unpack(tmp_path / "a.tgz")


@pytest.mark.parametrize(
    "header, message",
    [
        (b"1" * (1 << 20), "a header in the archive has 1,048,576 bytes"),
        (b"1" * (1 << 15), "a header in the archive is not valid"),
        (b"1 hdrcharset=" * 2500, "a header in the archive is not valid"),
        (b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n", "not enough values"),
        (b"9" * 30 + b" path=a\n", "Python int too large"),
        (b"22 GNU.sparse.major=x\n20 GNU.sparse.size=x\n", "invalid literal for int"),
    ],
)
def test_headers_that_are_not_valid(tmp_path, header, message):
    """`tarfile` would take more than a minute for the first."""
    pax = entry("pax", tarfile.XHDTYPE, size=len(header)).tobuf() + header
    content = pax + bytes(-len(pax) % 512) + entry("a", size=9).tobuf() + bytes(1536)
    with gzip.open(tmp_path / "a.tgz", "wb", compresslevel=1) as file:
        file.write(content * 20)
    with pytest.raises(ValueError, match=f"a.tgz cannot be extracted: {message}"):
        unpack(tmp_path / "a.tgz")


def test_long_names_that_are_valid(tmp_path):
    name = "/".join(["9" * 60] * 60)
    path = archive(tmp_path / "a.tgz", {name: b"x"}, form=tarfile.PAX_FORMAT)
    assert (unpack(path) / name.partition("/")[2]).read_bytes() == b"x"
