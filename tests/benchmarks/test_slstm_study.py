"""Tests the S-LSTM study: its commands, and a small study."""

import pytest

from benchmarks import slstm_study
from tests.training import labelling
from tfreps.__main__ import main

SMALL = "--units 4 --embedding-dim 4 --epochs 2"
ROWS = {
    "TextCNN": "--encoder cnn --num-filters 2 --widths 2 --epochs 2",
    "BiLSTM": f"--encoder bilstm {SMALL}",
    "S-LSTM, 1 steps, window 1": f"--encoder slstm --num-steps 1 {SMALL}",
}


@pytest.mark.parametrize("name", slstm_study.ROWS)
def test_every_command_is_one_of_tfreps(name, capsys):
    """The program accepts the flags; only the files are missing."""
    places = {"data": "NOWHERE", "runs": "NOWHERE", "run": "NOWHERE/run", "domain": "baby"}
    command = slstm_study.COMMON.format(**places, encoding="utf-8") + slstm_study.ROWS[name]
    assert main(command.split()) == 2
    assert "'NOWHERE/" in capsys.readouterr().err


@pytest.mark.slow
def test_a_small_study(tmp_path, monkeypatch, capsys):
    folder, inputs = tmp_path / "fdu_mtl", tmp_path / "fdu_mtl-inputs"
    folder.mkdir()
    inputs.mkdir()
    labelling.write_labelled(folder, sizes=(60, 4, 20))
    for part in "train", "test":
        (folder / f"{part}.tsv").rename(folder / f"baby.task.{part}")
    (inputs / "vectors.txt").write_text("2 3\ngood 1 0 0\nbad 0 1 0\n")
    monkeypatch.setattr(slstm_study, "ROWS", ROWS)
    monkeypatch.setattr(slstm_study, "OUTLINE", [(1, 1)])
    monkeypatch.setattr(slstm_study, "WINDOWS", (1,))
    monkeypatch.setattr(slstm_study, "BY_LENGTH", ("TextCNN",))
    monkeypatch.setattr(slstm_study, "LENGTHS", (0, 7, 257))
    monkeypatch.setattr(slstm_study, "train_once", train_here)
    flags = ["--data", str(tmp_path), "--runs", str(tmp_path), "--domain", "baby"]
    assert slstm_study.main(flags) == 0
    lines = capsys.readouterr().out.splitlines()
    texts = next(line for line in lines if line.startswith("| texts |")).split("|")
    assert int(texts[2]) + int(texts[3]) == 20
    accuracies = [float(line.split("|")[2]) for line in lines if line.startswith("| BiLSTM |")]
    assert len(accuracies) == 2 and 0 <= accuracies[0] <= 1
    for picture in "slstm_steps.png", "slstm_lengths.png":
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def train_here(run, words):
    """Trains in this process."""
    assert main([word for word in words if word != "bfloat16" and word != "--precision"]) == 0
    return labelling.results(run)
