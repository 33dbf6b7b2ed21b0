import stat
import zipfile

import pytest

from tfreps._src.presets import archives
from tfreps._src.presets.archives import unpack


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    return tmp_path / "keras/tfreps/zips"


def archive(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_files_are_extracted_once(tmp_path, cache):
    path = archive(tmp_path / "a.zip", {"options.json": "{}", "sub/größe x.txt": "x"})
    folder = unpack(path)
    assert (folder / "sub/größe x.txt").read_text() == "x"
    (folder / "options.json").write_text("kept")
    assert unpack(path) == folder and (folder / "options.json").read_text() == "kept"
    assert [item.name for item in cache.iterdir() if item.is_dir()] == [folder.name]
    archive(path, {"options.json": "another"})
    assert (unpack(path) / "options.json").read_text() == "another"


def test_the_only_folder_is_the_model(tmp_path):
    path = archive(tmp_path / "a.zip", {"uncased/vocab.txt": "a", "uncased/config.json": "{}"})
    assert unpack(path).name == "uncased"


def test_files_of_macos_are_ignored(tmp_path):
    files = {"uncased/vocab.txt": "a", "uncased/.DS_Store": "x", ".DS_Store": "x"}
    path = archive(tmp_path / "a.zip", {**files, "__MACOSX/uncased/._vocab.txt": "x"})
    folder = unpack(path)
    assert folder.name == "uncased" and [item.name for item in folder.iterdir()] == ["vocab.txt"]


def test_an_empty_name(tmp_path, cache):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(zipfile.ZipInfo(""), "x")
    with pytest.raises(ValueError, match="a.zip contains '', which is not a safe path: it is emp"):
        unpack(path)
    assert not [item for item in cache.iterdir() if item.is_dir()]


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/x", "C:/x", "C:x", "a\\..\\x", "..", "a/.."]
)
def test_names_that_leave_the_folder(tmp_path, cache, name):
    path = archive(tmp_path / "a.zip", {"options.json": "{}", name: "x"})
    with pytest.raises(ValueError, match="which is not a safe path: "):
        unpack(path)
    assert not [item for item in cache.iterdir() if item.is_dir()]
    assert not (tmp_path / "x").exists() and not (tmp_path / "keras/x").exists()


def test_links(tmp_path):
    info = zipfile.ZipInfo("weights.hdf5")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr(info, "/etc/passwd")
    with pytest.raises(ValueError, match="contains the link 'weights.hdf5'"):
        unpack(tmp_path / "a.zip")


def test_a_bomb(tmp_path, cache):
    path = archive(tmp_path / "a.zip", {"weights.hdf5": bytes(10_000_000)})
    with pytest.raises(ValueError, match="would unpack to 1 files and 10,000,000 bytes"):
        unpack(path)
    assert not [item for item in cache.iterdir() if item.is_dir()]


def test_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 2)
    path = archive(tmp_path / "a.zip", {str(n): "x" for n in range(3)})
    with pytest.raises(ValueError, match="would unpack to 3 files"):
        unpack(path)


def test_sizes_that_lie(tmp_path, cache):
    """The size in the directory is smaller than the content: extraction stops with an error."""
    path = archive(tmp_path / "a.zip", {"a.txt": "x" * 1000}, zipfile.ZIP_STORED)
    content = path.read_bytes()
    size = (1000).to_bytes(4, "little")
    path.write_bytes(content.replace(size + size, (10).to_bytes(4, "little") * 2))
    with pytest.raises(ValueError, match="cannot be extracted: "):
        unpack(path)
    assert not [item for item in cache.iterdir() if item.is_dir()]


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_part_of_an_archive(tmp_path, cache, share):
    content = archive(tmp_path / "whole.zip", {"a": "x" * 999, "b": "y" * 999}).read_bytes()
    path = tmp_path / "a.zip"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="cannot be extracted: .*download it again"):
        unpack(path)


def test_an_archive_without_its_middle(tmp_path, cache):
    content = archive(tmp_path / "whole.zip", {"a": "x" * 999, "b": "y" * 999}, 0).read_bytes()
    path = tmp_path / "a.zip"
    path.write_bytes(content[:100] + content[1900:])
    with pytest.raises(ValueError, match="cannot be extracted: .*download it again"):
        unpack(path)
    assert not [item for item in cache.iterdir() if item.is_dir()]


def test_a_changed_byte(tmp_path, cache):
    path = archive(tmp_path / "a.zip", {"a": "x" * 999}, zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cannot be extracted: Bad CRC-32"):
        unpack(path)
    assert not [item for item in cache.iterdir() if item.is_dir()]


def test_an_encrypted_archive(tmp_path):
    path = archive(tmp_path / "a.zip", {"a": "x"})
    content = bytearray(path.read_bytes())
    start = content.index(b"PK\x01\x02")
    content[start + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="must not be encrypted, .* Extract the archive yourself"):
        unpack(path)


def test_a_full_disk(tmp_path, cache, monkeypatch):
    def full(path, size):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(archives, "check_space", full)
    with pytest.raises(OSError, match="No space left"):
        unpack(archive(tmp_path / "a.zip", {"a": "x"}))
    assert not [item for item in cache.iterdir() if item.is_dir()]
