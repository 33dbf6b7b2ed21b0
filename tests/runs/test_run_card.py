"""A run folder's part of a model card."""

import logging

import pytest

from tfreps._src.runs.run_card import run_card, stopped_where
from tfreps.runs import RunFolder


def test_options_data_and_metrics(tmp_path):
    options = {
        "run": "runs/a",
        "train": ["/home/me/a.conll", "b.conll"],
        "validation": ["data\\validation.conll"],
        "test": None,
        "units": 12,
        "lowercase": True,
        "vectors": None,
        "time_limit_minutes": 3,
    }
    run = RunFolder.create(tmp_path / "run", "train-tagger", options)
    assert run_card(run)["metrics"] == {}
    run.write_results({"validation": {"accuracy": 0.5}, "training": {"tokens": 3}})
    assert run_card(run) == {
        "training": {"command": "tfreps train-tagger", "units": 12, "lowercase": True},
        "data": {"train": ["a.conll", "b.conll"], "validation": ["validation.conll"]},
        "metrics": {"validation": {"accuracy": 0.5}},
    }


def test_options_that_do_not_apply_are_left_out_and_zeros_are_not(tmp_path):
    options = {"dropout": 0.0, "warmup_steps": 0, "use_crf": False, "cased": False, "window": 1}
    unused = ["cased", "window"]
    run = RunFolder.create(tmp_path / "run", "train-tagger", options, unused=unused)
    program = {"command": "tfreps train-tagger"}
    assert run_card(RunFolder.open(run.path))["training"] == {
        **program,
        **{"dropout": 0.0, "warmup_steps": 0, "use_crf": False},
    }
    run = RunFolder.create(tmp_path / "old", "train-tagger", options)  # not known
    assert run_card(run)["training"] == {
        **program,
        **{"dropout": 0.0, "warmup_steps": 0, "window": 1},
    }


def test_no_path_of_this_machine(tmp_path):
    options = {
        **{"vectors": "/home/me/glove.txt", "bert": "/data/bert/", "elmo": "runs/elmo"},
        **{"unlabeled": ["/home/me/a.txt", "b.txt"], "vocabulary": None, "output": "/home/me/r"},
        **{"init_config": "/home/me/options.json", "elmo_weights": "/home/me/w.hdf5"},
    }
    card = run_card(RunFolder.create(tmp_path / "run", "convert", options))
    assert card["training"] == {
        "command": "tfreps convert",
        **{"vectors": "glove.txt", "bert": "bert", "elmo": "elmo"},
        **{"unlabeled": ["a.txt", "b.txt"]},
        **{"init_config": "options.json", "elmo_weights": "w.hdf5"},
    }


@pytest.mark.parametrize(
    "found, sentence",
    [
        ({"unit": "epoch", "done": 2, "planned": 5}, "The run stopped after epoch 2 of 5."),
        ({"unit": "epoch", "done": 0, "planned": 5}, "The run stopped in epoch 1 of 5."),
        ({"unit": "step", "done": 70, "planned": 90}, "The run stopped after step 70 of 90."),
        ("yes", ""),
    ],
)
def test_where_a_run_stopped(tmp_path, caplog, found, sentence):
    run = RunFolder.create(tmp_path / "run", "train-tagger", {})
    run.write_results({"unfinished": found})
    assert stopped_where(run) == sentence
    with caplog.at_level(logging.WARNING, "tfreps"):
        assert run_card(run).get("unfinished", "") == sentence
    assert [record.getMessage() for record in caplog.records] == [sentence] * bool(sentence)
