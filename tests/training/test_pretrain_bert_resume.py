"""Tests that resumed runs of `tfreps pretrain-bert` are bit-identical."""

import signal

import numpy as np
import pytest

from tests.training.bert_corpus import SIZES, files, history, pretrain, write_documents
from tests.training.labeling import refused
from tests.training.test_labeling_resume import interrupt, train
from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps.runs import RunFolder

pytest.importorskip("tensorflow_text", reason="masked language modeling needs it")

FLAGS = [*SIZES, "--epochs", "3", "--batch-tokens", "200", "--checkpoint-every", "4"]
FLAGS += ["--keep-checkpoints", "--gradient-accumulation-steps", "2", "--log-every", "3"]
FLAGS += ["--learning-rate", "0.01", "--deterministic"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--no-next-sentence", "--precision", "bfloat16"]])
def test_killed_and_resumed(tmp_path, more):
    line, flags = files(write_documents(tmp_path)), [*FLAGS, *more]
    whole, run = tmp_path / "whole", tmp_path / "run"
    train("pretrain-bert", line, flags, whole)
    last = RunFolder.open(whole).results()["steps"] - 1
    interrupt("pretrain-bert", line, flags, run, when=3, number=signal.SIGKILL)
    interrupt("pretrain-bert", line, flags, run, "--resume", when=last, number=signal.SIGTERM)
    train("pretrain-bert", [], [], run, "--resume")

    assert history(run) == history(whole)
    assert RunFolder.open(run).results() == RunFolder.open(whole).results()
    arrays, expected = (load_latest_checkpoint(path / "checkpoints")[1] for path in (run, whole))
    assert {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in expected.items()
    }
    ours, theirs = (RunFolder.open(path).load_model().weights for path in (run, whole))
    for weight, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(weight.numpy(), other.numpy())


@pytest.mark.slow
def test_changed_text_and_another_length(tmp_path, capsys):
    line, run = files(write_documents(tmp_path)), tmp_path / "run"
    pretrain(line, run, "--epochs", "1", "--keep-checkpoints")
    stored = RunFolder.open(run).options
    train, again = tmp_path / "train.txt", ["pretrain-bert", "--run", run, "--resume"]
    text = train.read_text()
    train.write_text("\n\n".join(text.strip().split("\n\n")[::-1]) + "\n")  # in another order
    err = refused(capsys, *again)
    assert "--train: " in err and "content with the SHA-256" in err
    train.write_text(text)
    err = refused(capsys, *again, "--epochs", "2")  # the schedule is linear
    assert "was started with different options: epochs" in err
    assert RunFolder.open(run).options == stored

    other, constant = tmp_path / "constant", ["--schedule", "constant", "--epochs", "1"]
    constant += ["--keep-checkpoints"]
    pretrain(line, other, *constant, "--warmup-steps", "2")
    pretrain(line, other, *constant[:2], "--warmup-steps", "2", "--epochs", "2", "--resume")
    assert RunFolder.open(other).options["epochs"] == 2
    assert max(entry.get("epoch", 0) for entry in history(other)) == 2
