"""Tests that no command overwrites its input, or a file that it did not write."""

import pytest

from tests import known_models
from tests.tiny_run import make_run
from tfreps.__main__ import main

MINE = "Ada saw Rome .\nthe dog .\n" * 9


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Returns a folder with a text, and runs of a biLM, a tagger and a classifier."""
    folder = tmp_path_factory.mktemp("place")
    make_run(folder / "elmo")
    known_models.tagger_run(folder / "tagger")
    known_models.classifier_run(folder / "classifier")
    return folder


# Command and options, followed by the input, if any, and --output FILE.
ASKED = {
    "build-vocabulary": ["build-vocabulary", "TEXT"],
    "build-vocabulary characters": ["build-vocabulary", "TEXT", "--tokens", "bert-characters"],
    "tokenize": ["tokenize", "TEXT"],
    "tag": ["tag", "PLACE/tagger", "TEXT"],
    "classify": ["classify", "PLACE/classifier", "TEXT"],
    "embed": ["embed", "PLACE/elmo", "TEXT"],
    "plot": ["plot", "positions", "--hidden-dim", "8", "--length", "4"],
    "evaluate": ["evaluate", "PLACE/tagger", "--data", "GOLD"],
}

QUICK = "build-vocabulary", "build-vocabulary characters", "tokenize", "classify", "plot"


def command(name, place, tmp_path):
    (tmp_path / "text.txt").write_text(MINE)
    (tmp_path / "gold.conll").write_text("Ada\tB-PER\nsaw\tO\n")
    names = {"PLACE": str(place), "TEXT": str(tmp_path / "text.txt")}
    names["GOLD"] = str(tmp_path / "gold.conll")
    words = ASKED[name]
    for old, new in names.items():
        words = [word.replace(old, new) for word in words]
    return [*words, "--output"], names["GOLD" if "GOLD" in ASKED[name] else "TEXT"]


@pytest.mark.parametrize("name", ASKED)
def test_an_output_file_is_written_over_when_told_so_alone(name, place, tmp_path, capsys):
    line, source = command(name, place, tmp_path)
    output = tmp_path / ("plot.png" if name == "plot" else "output")
    output.write_text("my own notes")
    assert main([*line, str(output)]) == 2
    assert f"{output} already exists. Choose another file, or give --overwrite." in read(capsys)
    assert output.read_text() == "my own notes"
    if "PLACE" in str(ASKED[name]) or "TEXT" in ASKED[name]:
        assert main([*line, source, "--overwrite"]) == 2
        assert "is an input of this command" in read(capsys)
    assert (tmp_path / "text.txt").read_text() == MINE
    if name in QUICK:
        assert main([*line, str(output), "--overwrite"]) == 0
        assert output.read_bytes()[:12] != b"my own notes"
    left = {"text.txt", "gold.conll", output.name}
    assert {path.name for path in tmp_path.iterdir()} == left


@pytest.mark.parametrize("program", ["tag", "evaluate"])
def test_a_file_of_the_run_is_an_input(program, place, tmp_path, capsys):
    line, _ = command(program, place, tmp_path)
    path = place / "tagger" / "model.keras"
    before = path.read_bytes()
    assert main([*line, str(path), "--overwrite"]) == 2
    assert "model.keras is an input of this command" in read(capsys)
    assert path.read_bytes() == before


@pytest.mark.parametrize("program", ["demo-corpus", "demo-tags"])
def test_folders_of_demo_text(program, tmp_path, capsys):
    name = {"demo-corpus": "validation.txt", "demo-tags": "validation.conll"}[program]
    (tmp_path / name).write_text("my own notes")
    assert main([program, "--output", str(tmp_path)]) == 2
    assert f"{name} already exists" in read(capsys)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_demo_corpus_is_not_made_over_its_own_text(tmp_path, capsys):
    text = tmp_path / "train-07.txt"
    text.write_text("The old dog sat by the river all day .\n" * 9)
    line = ["demo-corpus", "--text", str(tmp_path), "--output", str(tmp_path), "--overwrite"]
    assert main(line) == 2
    assert "train-07.txt is an input of this command" in read(capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["train-07.txt"]


def test_a_run_is_not_trained_over_what_it_reads(place, tmp_path, capsys):
    (tmp_path / "a.conll").write_text("Ada\tB-PER\nsaw\tO\n\n" * 9)
    data = ["--train", str(tmp_path / "a.conll"), "--validation", str(tmp_path / "a.conll")]
    line = ["train-tagger", *data, "--scheme", "bio", "--overwrite"]
    elmo = str(place / "elmo")
    assert main([*line, "--elmo", elmo, "--run", elmo]) == 2
    assert f"--elmo is {elmo}, which belongs to the run in the folder {elmo}" in read(capsys)
    (tmp_path / "a.txt").write_text("the dog\n" * 9)
    line = ["pretrain-elmo", "--size", "elmo_tiny", "--train", str(tmp_path / "a.txt")]
    line += ["--vocabulary", f"{elmo}/vocabulary.txt", "--run", elmo, "--overwrite"]
    assert main(line) == 2
    assert "vocabulary.txt, which belongs to the run in the folder" in read(capsys)
    assert (place / "elmo" / "model.keras").is_file()


def read(capsys):
    return capsys.readouterr().err
