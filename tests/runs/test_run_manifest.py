"""Tests the manifest: changed assets, and changed, moved, missing and reordered data files."""

import json
import os
import shutil

import pytest

from tests import known_models, tiny_run
from tfreps import load
from tfreps._src.runs.run_manifest import (
    MANIFEST,
    check_assets,
    check_data,
    read_manifest,
    record_asset,
    record_data,
)
from tfreps.runs import RunFolder


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


def test_the_record_of_data(files, tmp_path):
    record_data(tmp_path, {"train": files(a="one", b="two"), "validation": []})
    found = read_manifest(tmp_path)["data"]
    assert [(entry["name"], entry["bytes"]) for entry in found["train"]] == [
        ("a.txt", 3),
        ("b.txt", 3),
    ]
    assert found["validation"] == [] and str(tmp_path) not in (tmp_path / MANIFEST).read_text()
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
    with pytest.raises(ValueError, match=r"`validation` .* expected no files; got 1 file"):
        check_data(tmp_path, {"train": paths, "validation": paths[:1]})
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
    assert read_manifest(tmp_path)["data"] == {"train": []}
    check_data(tmp_path, {"train": [tmp_path / "pipe"]})


@pytest.mark.parametrize(
    "entries", ["a.txt", [1], [{"name": "a"}], [{"name": "a", "bytes": "3", "sha256": "0"}]]
)
def test_a_damaged_record_of_data(tmp_path, entries):
    (tmp_path / MANIFEST).write_text(json.dumps({"data": {"train": entries}}))
    with pytest.raises(ValueError, match="manifest.json.*'train'.*Put the original file back"):
        check_data(tmp_path, {})


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of a tagger and a biLM can be opened without hashes."""
    folder = tmp_path_factory.mktemp("runs")
    known_models.tagger_run(folder / "tagger")
    known_models.classifier_run(folder / "classifier")
    tiny_run.make_run(folder / "elmo")
    return folder


DAMAGE = {
    "cut": lambda data: data[: len(data) // 8],
    "torn": lambda data: data[:-3],
    "one line less": lambda data: data[: data[:-1].rindex(b"\n") + 1],
    "one line more": lambda data: data + b"new\n",
    "one line inserted": lambda data: b"new\n" + data,
    "other bytes": lambda data: data[::-1],
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_changed_file_is_named_with_its_hash(tmp_path, name):
    run = RunFolder.create(tmp_path / "run", "train-tagger", {})
    run.write_asset(run.vocabulary_path, tiny_run.VOCABULARY.write)
    run.write_asset(run.tags_path, lambda path: path.write_text("O\nB-PER\n"))
    RunFolder.open(run.path)
    for path in (run.vocabulary_path, run.tags_path):
        before = path.read_bytes()
        path.write_bytes(DAMAGE[name](before))
        with pytest.raises(ValueError) as caught:
            RunFolder.open(run.path)
        assert f"{path} is not the file that the run was created with: exp" in str(caught.value)
        sizes = len(before), len(DAMAGE[name](before))
        assert f"expected {sizes[0]} bytes with SHA-256" in str(caught.value)
        assert f"found {sizes[1]} bytes with SHA-256" in str(caught.value)
        path.write_bytes(before)
    run.tags_path.unlink()
    with pytest.raises(ValueError, match="tags.txt is missing"):
        RunFolder.open(run.path)


def test_what_is_recorded_of_assets(tmp_path):
    (tmp_path / "a.txt").write_text("O")
    record_asset(tmp_path / "a.txt")
    text = (tmp_path / MANIFEST).read_text()
    digest = "c4694f2e93d5c4e7d51f9c5deb75e6cc8be5e1114178c6a45b6fc2c566a0aa8c"
    assert json.loads(text)["assets"] == {"a.txt": {"bytes": 1, "sha256": digest}}
    record_asset(tmp_path / "a.txt")
    assert (tmp_path / MANIFEST).read_text() == text


WRONG = ['{"../a": {}}', '{"a.txt": 1}', "[]", '{"a.txt": {}}']
WRONG = [
    "[]",
    "{",
    '{"other": {}}',
    '{"data": []}',
    '{"data": 0}',
    *(f'{{"assets": {text}}}' for text in WRONG),
]


@pytest.mark.parametrize("bad", WRONG)
def test_a_damaged_manifest(tmp_path, bad):
    (tmp_path / MANIFEST).write_text(bad)
    with pytest.raises(ValueError, match=r"manifest\.json"):
        check_assets(tmp_path)


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "damage",
    [
        "cut",
        "one line inserted",
        pytest.param("one line less", marks=pytest.mark.slow),
        pytest.param("one line more", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "kind, file, message",
    [
        ("tagger", "vocabulary.txt", "has .* tokens, but the model's table"),
        ("classifier", "vocabulary.txt", "has .* tokens, but the model's table"),
        ("tagger", "tags.txt", "the model has 3 tags, .* differ from line"),
        ("classifier", "labels.txt", "the model has 2 labels, .* differ from line"),
        ("elmo", "vocabulary.txt", "the vocabulary belongs to another model"),
    ],
)
def test_counts_are_compared_without_hashes_too(runs, tmp_path, kind, file, message, damage):
    shutil.copytree(runs / kind, tmp_path / "run")
    path = tmp_path / "run" / file
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(ValueError, match=f"{file}.*({message}|found no|empty)"):
        load(tmp_path / "run")


def test_a_run_without_hashes_opens(runs, tmp_path):
    shutil.copytree(runs / "tagger", tmp_path / "run")
    (tmp_path / "run" / MANIFEST).unlink()
    assert load(tmp_path / "run").names == known_models.TAGS
