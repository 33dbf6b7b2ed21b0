"""An output folder appears whole or not at all, on disks and on object stores."""

import os

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

from apache_beam.io.filesystems import FileSystems

from tests.serving.annotation.bucket import BucketFileSystem
from tfreps.serving.annotation.output_folder import (
    SCHEMA,
    check_output_folder,
    files_in,
    is_local,
    staged_folder,
)


@pytest.fixture(params=["disk", "bucket"])
def base(request, tmp_path):
    BucketFileSystem.folder = tmp_path
    return str(tmp_path) if request.param == "disk" else "bucket://mine"


def write(folder, **files):
    for name, text in files.items():
        with FileSystems.create(f"{folder}/{name.replace('_', '.')}") as file:
            file.write(text.encode())


def content(folder):
    found = {}
    for path in files_in(folder):
        with FileSystems.open(path) as file:
            found[path.rpartition("/")[2]] = file.read().decode()
    return found


def test_a_new_folder(base):
    with staged_folder(f"{base}/out/new") as folder:
        write(folder, annotated="a", schema_json="{}")
        assert files_in(f"{base}/out/new") == []
    assert content(f"{base}/out/new") == {"annotated": "a", SCHEMA: "{}"}
    assert len(files_in(base)) == 2


def test_an_earlier_folder_is_replaced_as_a_whole(base):
    for text in ("old", "new"):
        with staged_folder(f"{base}/out") as folder:
            write(folder, **{f"annotated-{text}": text, "schema_json": text})
    assert content(f"{base}/out") == {"annotated-new": "new", SCHEMA: "new"}
    assert len(files_in(base)) == 2


def test_an_error_leaves_the_earlier_folder(base):
    with staged_folder(f"{base}/out") as folder:
        write(folder, annotated="old")
    with pytest.raises(RuntimeError), staged_folder(f"{base}/out") as folder:
        write(folder, annotated="new")
        raise RuntimeError
    assert content(f"{base}/out") == {"annotated": "old"}
    assert len(files_in(base)) == 1


def test_an_error_of_the_last_step_leaves_the_earlier_folder(tmp_path, monkeypatch):
    def fail(source, target):
        raise OSError("cannot rename")

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("old")
    with pytest.raises(OSError, match="cannot rename"), staged_folder(f"{tmp_path}/out"):
        monkeypatch.setattr(os, "replace", fail)
    assert os.listdir(tmp_path) == ["out"] and os.listdir(tmp_path / "out") == ["old"]


def test_folders_that_may_be_written(base):
    check_output_folder(f"{base}/new", False, [f"{base}/in.txt"])
    write(base, **{"in_txt": "text"})
    with staged_folder(f"{base}/old") as folder:
        write(folder, schema_json="{}")
    check_output_folder(f"{base}/old/", True, [f"{base}/in.txt"])


def test_folders_that_may_not_be_written(base):
    with staged_folder(f"{base}/old") as folder:
        write(folder, schema_json="{}", text_txt="text")
    with pytest.raises(
        ValueError, match="old already exists. Choose another folder, or set `overw"
    ):
        check_output_folder(f"{base}/old", False, [])
    with pytest.raises(
        ValueError, match="text.txt, which is an input, and inputs are never overwr"
    ):
        check_output_folder(f"{base}/old", True, [f"{base}/old/text.txt"])
    with staged_folder(f"{base}/mine") as folder:
        write(folder, letter="dear")
    with pytest.raises(ValueError, match="was not written by `tfreps annotate` .it has no schema"):
        check_output_folder(f"{base}/mine", True, [])


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file. Give the name of a folder"):
        check_output_folder(str(tmp_path / "file"), True, [])
    assert is_local("a/b") and not is_local("gs://a/b")
