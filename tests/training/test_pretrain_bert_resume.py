"""Killed runs of `tfreps pretrain-bert` go on as if nothing had happened, bit by bit."""

import signal

import numpy as np
import pytest

from tests.training.bert_corpus import SIZES, files, history, write_documents
from tests.training.test_labelling_resume import train
from tfreps.checkpoint import load_latest_checkpoint
from tfreps.run_folder import RunFolder

FLAGS = [*SIZES, "--epochs", "3", "--batch-tokens", "200", "--checkpoint-every", "4"]
FLAGS += ["--accumulate", "2", "--log-every", "3", "--learning-rate", "0.01", "--deterministic"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--no-next-sentence", "--precision", "bfloat16"]])
def test_killed_and_resumed(tmp_path, more):
    line, flags = files(write_documents(tmp_path)), [*FLAGS, *more]
    whole = train("pretrain-bert", line, flags, tmp_path / "whole")
    run, steps = tmp_path / "run", RunFolder.open(whole).results()["steps"]
    for number, step in enumerate((3, steps - 1)):  # killed again and again
        again = ["--resume"] if number else []
        train("pretrain-bert", line, flags, run, *again, when=step, code=-signal.SIGKILL)
    train("pretrain-bert", line, flags, run, "--resume")

    assert history(run) == history(whole)
    assert RunFolder.open(run).results() == RunFolder.open(whole).results()
    arrays, expected = (load_latest_checkpoint(path / "checkpoints")[1] for path in (run, whole))
    assert {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in expected.items()
    }
    ours, theirs = (RunFolder.open(path).load_model().weights for path in (run, whole))
    for weight, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(weight.numpy(), other.numpy())
