"""Tar archives: as zip archives, but their files are extracted as their headers are read."""

import bz2
import gzip
import io
import tarfile

import pytest

from tfreps._src.presets import archives
from tfreps._src.presets.archives import unpack


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    return tmp_path / "keras/tfreps/zips"


def entry(name, kind=tarfile.REGTYPE, **facts):
    found = tarfile.TarInfo(name)
    found.type = kind
    for key, value in facts.items():
        setattr(found, key, value)
    return found


def archive(path, *members, form=tarfile.GNU_FORMAT):
    with tarfile.open(path, f"w:{path.suffix[1:].replace('tgz', 'gz')}", format=form) as file:
        for info, content in members:
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return path


def nothing_is_left(cache):
    return not cache.exists() or not [item for item in cache.iterdir() if item.is_dir()]


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "a.tar.bz2"])
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_only_folder_is_the_model(tmp_path, name, form):
    path = archive(
        tmp_path / name,
        (entry("zhs.model", tarfile.DIRTYPE), b""),
        (entry("zhs.model/config.json"), b"{}"),
        (entry("zhs.model/._config.json"), b"of macOS"),
        (entry("zhs.model/" + "configs/" * 20 + "größe.json"), b"[]"),
        form=form,
    )
    folder = unpack(path)
    assert folder.name == "zhs.model"
    files = {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    assert files == {"config.json": b"{}", "configs/" * 20 + "größe.json": b"[]"}
    (folder / "config.json").write_text("kept")
    assert unpack(path) == folder and (folder / "config.json").read_text() == "kept"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "C:/x", "a\\x", "a\nx"])
def test_names_that_leave_the_folder(tmp_path, cache, name):
    path = archive(tmp_path / "a.tgz", (entry("config.json"), b"{}"), (entry(name), b"x"))
    with pytest.raises(ValueError, match="which is not a safe path: "):
        unpack(path)
    assert nothing_is_left(cache) and not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices(tmp_path, cache, kind):
    path = archive(tmp_path / "a.tgz", (entry("encoder.pkl", kind, linkname="/etc/passwd"), b""))
    with pytest.raises(ValueError, match="contains the link 'encoder.pkl'"):
        unpack(path)
    assert nothing_is_left(cache)


@pytest.mark.parametrize("name", ["a.tgz", "a.tar.bz2"])
def test_bombs(tmp_path, cache, monkeypatch, name):
    path = archive(tmp_path / name, (entry("encoder.pkl"), bytes(10_000_000)))
    with pytest.raises(ValueError, match="would unpack to 1 files and 10,000,000 bytes"):
        unpack(path)
    small = tarfile.TarInfo("a")
    path = tmp_path / f"2{name}"
    opened = gzip.open if name.endswith("tgz") else bz2.open
    with opened(path, "wb") as file:
        file.write(small.tobuf() + bytes(1024) + bytes(10_000_000))  # after the end of the archive
    with pytest.raises(ValueError, match="would unpack to 0 files and"):
        unpack(path)
    monkeypatch.setattr(archives, "MOST_MEMBERS", 2)
    with pytest.raises(ValueError, match="would unpack to 3 files"):
        unpack(archive(tmp_path / f"3{name}", *((entry(str(n)), b"x") for n in range(3))))
    assert nothing_is_left(cache)


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
    path = archive(tmp_path / "a.tgz", (entry(name), b"x"), form=tarfile.PAX_FORMAT)
    assert (unpack(path) / name.partition("/")[2]).read_bytes() == b"x"


@pytest.mark.parametrize("name", ["a.tgz", "a.tar.bz2"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_part_of_an_archive(tmp_path, cache, name, share):
    content = bytes(range(256)) * 50
    path = archive(tmp_path / name, (entry("a"), content), (entry("b"), content))
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match="cannot be extracted: .*download it again"):
        unpack(path)
    assert nothing_is_left(cache)


@pytest.mark.parametrize("name", ["a.tgz", "a.tar.bz2"])
def test_a_changed_byte(tmp_path, cache, name):
    path = archive(tmp_path / name, (entry("a"), bytes(range(256)) * 50))
    content = bytearray(path.read_bytes())
    content[-6] ^= 1  # a bit of the CRC
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cannot be extracted: "):
        unpack(path)
    assert nothing_is_left(cache)


def test_a_full_disk(tmp_path, cache, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archives.shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space left"):
        unpack(archive(tmp_path / "a.tgz", (entry("a"), b"x")))
    assert nothing_is_left(cache)
