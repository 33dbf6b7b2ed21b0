"""Tests that finished trainings do not run again."""

import json
import subprocess

from benchmarks.trainings import run_folder, train_once


def test_a_run_that_was_killed_goes_on_and_a_finished_one_is_read(tmp_path, monkeypatch):
    run, calls = run_folder(tmp_path, "table", "S-LSTM, own"), []

    def fake(command, **_):
        calls.append(command[-2:])
        run.mkdir(exist_ok=True)
        (run / "results.json").write_text(json.dumps({"test": {"accuracy": 0.5}}))

    monkeypatch.setattr(subprocess, "run", fake)
    assert run == tmp_path / "table" / "s-lstm--own"
    run.mkdir(parents=True)
    (run / "results.json").write_text('{"training": {}}')  # killed before it was tested
    for _ in range(2):
        assert train_once(run, ["train", "--resume"]) == {"test": {"accuracy": 0.5}}
    assert calls == [["train", "--resume"]]
