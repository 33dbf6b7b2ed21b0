"""Assets of a run: any change of these files is detected."""

import json
import shutil

import pytest

from tests import known_models, tiny_run
from tfreps.inference.load import load
from tfreps.runs.run_assets import ASSETS, check_assets, record_asset
from tfreps.runs.run_folder import RunFolder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of a tagger and a biLM can be opened without `assets.json`."""
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
    run.keep(run.vocabulary_path, tiny_run.VOCABULARY.write)
    run.keep(run.tags_path, lambda path: path.write_text("O\nB-PER\n"))
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


def test_what_is_recorded(tmp_path):
    (tmp_path / "a.txt").write_text("O")
    record_asset(tmp_path / "a.txt")
    text = (tmp_path / ASSETS).read_text()
    digest = "c4694f2e93d5c4e7d51f9c5deb75e6cc8be5e1114178c6a45b6fc2c566a0aa8c"
    assert json.loads(text) == {"a.txt": {"bytes": 1, "sha256": digest}}
    record_asset(tmp_path / "a.txt")
    assert (tmp_path / ASSETS).read_text() == text


@pytest.mark.parametrize("bad", ['{"../a": {}}', '{"a.txt": 1}', "[]", "{", '{"a.txt": {}}'])
def test_a_damaged_record(tmp_path, bad):
    (tmp_path / ASSETS).write_text(bad)
    with pytest.raises(ValueError, match=r"assets\.json"):
        check_assets(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "one line less", "one line more", "one line inserted"])
@pytest.mark.parametrize(
    "kind, file, message",
    [
        ("tagger", "vocabulary.txt", "has .* tokens, but the model's table"),
        ("classifier", "vocabulary.txt", "has .* tokens, but the model's table"),
        ("tagger", "tags.txt", "tags, the model has 3, and they differ from line"),
        ("classifier", "labels.txt", "labels, the model has 2, and they differ from line"),
        ("elmo", "vocabulary.txt", "the vocabulary of another model"),
    ],
)
def test_counts_are_compared_without_hashes_too(runs, tmp_path, kind, file, message, damage):
    shutil.copytree(runs / kind, tmp_path / "run")
    path = tmp_path / "run" / file
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(ValueError, match=f"{file}.*({message}|found no|empty)"):
        load(tmp_path / "run")


def test_a_run_without_hashes_opens(runs):
    assert not (runs / "tagger" / ASSETS).exists()
    assert load(runs / "tagger").names == known_models.TAGS
