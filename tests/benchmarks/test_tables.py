"""Tests the tables of results: trainings, stored results and output."""

import json
import subprocess

import pytest

from benchmarks import tables
from tfreps.__main__ import PROGRAMS, main


def fake_training(calls):
    """Writes metrics that depend on row and seed instead of training."""

    def run(command, **_):
        words = command[command.index("tfreps") + 1 :]
        calls.append(words)
        folder = words[words.index("--run") + 1]
        seed = int(words[words.index("--seed") + 1]) if "--seed" in words else 0
        scores = {"precision": 0.9, "recall": 0.8, "f1": 0.5 + seed / 10}
        results = {"test": {"weighted": scores, "spans": {"micro": scores}}}
        tables.pathlib.Path(folder).mkdir()
        tables.pathlib.Path(folder, "results.json").write_text(json.dumps(results))

    return run


def test_rows_are_trained_once_and_averaged(tmp_path, monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(subprocess, "run", fake_training(calls))
    command = ["resume_ner", "--data", "DATA", "--runs", str(tmp_path), "--only", "LSTM+"]
    assert tables.main(command) == 0
    assert len(calls) == 9 and calls[0][:3] == [
        "train-tagger",
        "--train",
        "DATA/resume_ner/train.char.bmes",
    ]
    line = (
        "| S-LSTM+CRF | 0.9000 ± 0.0000 | 0.8000 ± 0.0000 | 0.6000 ± 0.1000 | 0.6000 ± 0.1000 | 3 |"
    )
    assert capsys.readouterr().out.splitlines()[-1] == line
    assert tables.main(command) == 0 and len(calls) == 9
    assert capsys.readouterr().out.splitlines()[-1] == line
    assert tables.main([*command[:-1], "S-LSTM"]) == 0  # a whole name selects only that row
    assert len(calls) == 12 and "S-LSTM+CRF" not in capsys.readouterr().out


def test_domains_are_averaged_within_a_seed(tmp_path, monkeypatch, capsys):
    def run(command, **_):
        words = command[command.index("tfreps") + 1 :]
        folder, encoding = words[words.index("--run") + 1], words[words.index("--encoding") + 1]
        assert encoding == ("latin-1" if "/dvd.task" in words[2] else "utf-8")
        accuracy = {"baby": 0.5, "dvd": 0.7}[folder.rsplit("/", 1)[1]]
        accuracy += int(words[words.index("--seed") + 1]) / 10
        tables.pathlib.Path(folder).mkdir()
        results = {"test": {"accuracy": accuracy}}
        tables.pathlib.Path(folder, "results.json").write_text(json.dumps(results))

    monkeypatch.setattr(subprocess, "run", run)
    command = ["fdu_mtl", "--data", "DATA", "--runs", str(tmp_path), "--only", "TextCNN, own"]
    assert tables.main([*command, "--domains", "baby", "dvd", "--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| TextCNN, own vectors | 0.6500 ± 0.0500 | 2 |" in lines


@pytest.mark.parametrize("name", tables.TABLES)
def test_every_command_is_one_of_tfreps(name, capsys):
    """The program exists and accepts the flags; only the files are missing."""
    places = {"data": "NOWHERE", "inputs": "NOWHERE", "run": "NOWHERE/run"}
    for command, _ in tables.TABLES[name].values():
        words = command.format(**places, seed=1, domain="baby", encoding="latin-1").split()
        assert words[0] in PROGRAMS and main(words) == 2
        assert "NOWHERE/" in capsys.readouterr().err
