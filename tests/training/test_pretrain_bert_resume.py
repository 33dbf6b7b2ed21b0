"""Tests that resumed runs of `tfreps pretrain-bert` are bit-identical."""

import signal

import numpy as np
import pytest

from tests.training.bert_corpus import SIZES, files, history, write_documents
from tests.training.test_labelling_resume import interrupt, train
from tfreps.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps.runs.run_folder import RunFolder

FLAGS = [*SIZES, "--epochs", "3", "--batch-tokens", "200", "--checkpoint-every", "4"]
FLAGS += [
    "--gradient-accumulation-steps",
    "2",
    "--log-every",
    "3",
    "--learning-rate",
    "0.01",
    "--deterministic",
]


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
