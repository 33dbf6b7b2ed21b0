"""Tests the messages of the training programs."""

import types

import numpy as np

from tests import tiny_bert
from tfreps.cli import messages
from tfreps.models import BertEncoder
from tfreps.runs.bert_loading import EncoderAndTokenizer
from tfreps.text import WordVectors


def test_what_a_bert_is_is_told(capsys):
    tokenizer = tiny_bert.pieces("dogs", "sat")  # 7 with the special tokens
    for more, told in ((0, "7 tokens."), (2, "7 tokens (2 rows of its embedding table")):
        encoder = BertEncoder(7 + more, hidden_dim=8, num_layers=1, num_heads=2)
        messages.say_bert("a/b", EncoderAndTokenizer(encoder, tokenizer))
        assert f"BERT: 1 layers of 8 dimensions from a/b, {told}" in capsys.readouterr().out


def test_a_terminal_sees_every_line_and_a_file_those_that_stay(capsys, monkeypatch):
    def say():
        messages.say_progress("half way", progress=True)
        messages.say_progress("done", final=True)
        return capsys.readouterr().err

    assert say() == "done\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert say() == "\r\033[Khalf way\r\033[Kdone\n"


def test_the_beginning_and_the_end(capsys):
    run = types.SimpleNamespace(
        path="r", logs_path="r/logs", model_path="m", results_path="s", pictures_path="p"
    )
    messages.say_start(run, types.SimpleNamespace(count_params=lambda: 1234), " on 2 texts")
    messages.say_nothing_held_out()
    messages.say_written(run, "classify")
    messages.say_vectors("v.txt", WordVectors(np.zeros([3, 2]), np.array([True, False, True])))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "Training 1,234 parameters in r on 2 texts.",
        "Watch it with: tensorboard --logdir r/logs",
    ]
    assert lines[2].startswith("No text is held out: the last weights are saved")
    assert lines[4:6] == [
        "Wrote m, s and p.",
        "Next: tfreps classify r FILE, tfreps evaluate r --data FILES, or "
        "tfreps export r --to DIR.",
    ]
    assert lines[6] == "Word vectors: 2 of 3 words have a vector in v.txt."


def test_results_of_taggers_and_of_classifiers(capsys):
    scores = {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": 4}
    report = {"labels": {"X": scores}, "micro": scores, "macro": scores, "weighted": scores}
    measured = {
        "dev": {"sentences": 3, "accuracy": 0.5},
        "test": {"texts": 3, "accuracy": 0.75, "auc": 0.625, **report},
    }
    messages.say_results(measured)
    lines = capsys.readouterr().out.split("\n\n")
    assert lines[0] == "\ndev: accuracy 0.5000"
    assert lines[1].startswith("test: accuracy 0.7500, AUC 0.6250\n") and "0.6667" in lines[1]
