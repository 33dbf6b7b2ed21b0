"""After SIGKILL during writing, files are complete or absent and the next run works."""

import json
import types
import warnings

import h5py
import pytest

from tests.killed import killed_in_a_fork, killed_program
from tests.tiny_run import make_run
from tfreps.__main__ import main
from tfreps._src.files.atomic_files import is_temporary
from tfreps.runs import RunFolder
from tfreps.training import build_vocabulary

MOST = 60  # events of the longest case


@pytest.fixture(autouse=True)
def forks():
    """Ignores the warning about forks: the forked processes do not use TensorFlow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def test_a_vocabulary_is_whole_or_absent(tmp_path):
    (tmp_path / "text.txt").write_text("a rose is a rose\n" * 99)
    place = tmp_path / "out"
    place.mkdir()
    line = [str(tmp_path / "text.txt"), "--output", str(place / "v.txt")]
    for number in range(1, MOST):
        killed = killed_in_a_fork(lambda: build_vocabulary.main(line), place, number)
        path = place / "v.txt"
        assert not path.exists() or path.read_text().endswith("rose\nis\n")
        if not killed:
            break
        path.unlink(missing_ok=True)
    assert 2 < number < MOST - 1
    assert [path.name for path in place.iterdir()] == ["v.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("earlier", [False, True])
def test_a_run_can_be_begun_anew_after_a_kill_at_any_file(tmp_path, earlier):
    path = tmp_path / "run"
    model = types.SimpleNamespace(compiled=False, save=lambda path: path.write_bytes(b"model" * 9))

    def write(folder=path):
        run = RunFolder.create(folder, "train-tagger", {"seed": 1}, overwrite=True)
        run.write_asset(run.vocabulary_path, lambda path: path.write_text("a\nb\n"))
        run.write_asset(run.tags_path, lambda path: path.write_text("O\n"))
        run.save_model(model)
        run.write_results({"f1": 0.5})

    expected = {"model.keras": b"model" * 9, "vocabulary.txt": b"a\nb\n", "tags.txt": b"O\n"}
    for number in range(1, MOST):
        if earlier:
            write()
        killed = killed_in_a_fork(write, path, number)
        for name, content in expected.items():
            assert not (path / name).exists() or (path / name).read_bytes() == content
        for name in ("options.json", "results.json", "manifest.json"):
            if (path / name).exists():
                json.loads((path / name).read_text())
        if (path / "options.json").exists():
            RunFolder.open(path)
        write()  # the next run works and removes temporary files
        assert not [item for item in path.iterdir() if is_temporary(item.name)]
        if not killed:
            break
    assert 10 < number < MOST - 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 3, 6])
def test_folders_of_programs_are_whole_or_absent(tmp_path, number):
    make_run(tmp_path / "elmo")
    (tmp_path / "text.txt").write_text("the dog .\n" * 9)
    place = tmp_path / "out"
    place.mkdir()
    vectors, export, files = place / "v.hdf5", place / "export", place / "files"
    cases = {
        "embed": ["embed", tmp_path / "elmo", tmp_path / "text.txt", "--output", vectors],
        "export": ["export", tmp_path / "elmo", "--output", export],
        "convert": ["convert", tmp_path / "elmo", "--output-format", "bilm-tf", "--output", files],
    }
    for name, line in cases.items():
        killed = killed_program(place, number, *line)
        if vectors.exists():
            with h5py.File(vectors) as file:
                arrays = {*map(str, range(9)), "sentence_to_index", "token_digests"}
                assert set(file) == arrays
        if files.exists():
            names = {"options.json", "weights.hdf5", "vocabulary.txt"}
            assert {path.name for path in files.iterdir()} == names
        for version in export.glob("[0-9]*"):
            assert (version / "saved_model.pb").is_file()
        again = ["--resume"] if name == "embed" else []
        if killed or name != "convert":
            if not (name == "convert" and files.exists()):
                assert main([*map(str, line), *again]) == 0
        assert not [path for path in place.rglob(".*") if is_temporary(path.name)]
