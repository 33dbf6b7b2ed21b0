"""Tests the record of the training data: changed, moved, missing and reordered files."""

import json
import os

import pytest

from tfreps.files.json_files import read_json
from tfreps.runs.run_data import check_data, record_data


@pytest.fixture
def files(tmp_path):
    """Returns a function that writes files and returns their paths."""

    def write(**texts):
        (tmp_path / "data").mkdir(exist_ok=True)
        paths = [tmp_path / "data" / f"{name}.txt" for name in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text)
        return paths

    return write


def test_the_record(files, tmp_path):
    record_data(tmp_path, {"train": files(a="one", b="two"), "dev": []})
    found = read_json(tmp_path / "data.json")
    assert [(entry["name"], entry["bytes"]) for entry in found["train"]] == [
        ("a.txt", 3),
        ("b.txt", 3),
    ]
    assert found["dev"] == [] and str(tmp_path) not in (tmp_path / "data.json").read_text()
    check_data(tmp_path / "none", {"train": ["absent"]})  # nothing was recorded


def test_changed_content(files, tmp_path):
    paths = files(a="one", b="two")
    record_data(tmp_path, {"train": paths})
    check_data(tmp_path, {"train": paths})
    files(b="three")
    with pytest.raises(ValueError, match=r"`train`: .*b.txt is not the file .*3 bytes; found 5 by"):
        check_data(tmp_path, {"train": paths})
    files(b="owt")
    with pytest.raises(ValueError, match=r"`train`: .*b.txt .*expected content with the SHA-256"):
        check_data(tmp_path, {"train": paths})
    files(b="two")
    check_data(tmp_path, {"train": paths})


def test_moved_files(files, tmp_path):
    paths = files(a="one", b="two")
    record_data(tmp_path, {"train": paths})
    moved = [path.rename(tmp_path / f"new-{path.name}") for path in paths]
    check_data(tmp_path, {"train": moved})
    with pytest.raises(ValueError, match="`train`: .*b.txt is not the file"):
        check_data(tmp_path, {"train": moved[::-1]})


def test_more_and_fewer_files(files, tmp_path):
    paths = files(a="one", b="two")
    record_data(tmp_path, {"train": paths})
    with pytest.raises(ValueError, match=r"2 files \(a.txt, b.txt\); got 1 file \(a.txt\)"):
        check_data(tmp_path, {"train": paths[:1]})
    with pytest.raises(ValueError, match=r"`train` .* expected 2 files .*; got no files."):
        check_data(tmp_path, {})
    with pytest.raises(ValueError, match=r"`dev` .* expected no files; got 1 file"):
        check_data(tmp_path, {"train": paths, "dev": paths[:1]})
    with pytest.raises(ValueError, match=r"got 7 files \(a.txt, .*, ...\)"):
        check_data(tmp_path, {"train": paths[:1] * 7})


def test_a_folder_of_classes(tmp_path):
    data = tmp_path / "data"
    for label in ("bad", "good"):
        (data / label).mkdir(parents=True)
        (data / label / "1.txt").write_text(label)
    record_data(tmp_path, {"train": [data]})
    (data / "README").write_text("not read")
    (data / "bad" / ".hidden").write_text("not read")
    check_data(tmp_path, {"train": [data]})
    moved = data.rename(tmp_path / "moved")
    check_data(tmp_path, {"train": [moved]})
    (moved / "bad" / "1.txt").rename(moved / "good" / "0.txt")  # another label
    with pytest.raises(ValueError, match="`train`: .*moved is not the file"):
        check_data(tmp_path, {"train": [moved]})


def test_a_pipe_is_not_recorded(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    record_data(tmp_path, {"train": [tmp_path / "pipe"]})
    assert read_json(tmp_path / "data.json") == {"train": []}
    check_data(tmp_path, {"train": [tmp_path / "pipe"]})


@pytest.mark.parametrize(
    "entries", ["a.txt", [1], [{"name": "a"}], [{"name": "a", "bytes": "3", "sha256": "0"}]]
)
def test_a_damaged_record(tmp_path, entries):
    (tmp_path / "data.json").write_text(json.dumps({"train": entries}))
    with pytest.raises(ValueError, match="data.json.*'train'.*Put the original file back"):
        check_data(tmp_path, {})
