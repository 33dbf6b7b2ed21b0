"""Killed runs of taggers and classifiers go on as if nothing had happened, bit by bit."""

import json
import signal

import numpy as np
import pytest

from tests.training import labelling
from tests.training.labelling import history, results
from tests.training.test_pretrain_resume import finish, start
from tfreps.checkpoint import load_latest_checkpoint
from tfreps.run_folder import RunFolder

# Runs `tfreps` with the arguments behind the first, the step at which it is killed (0: never).
KILLED = """
import os, signal, sys
from tfreps import callbacks
from tfreps.__main__ import main
import tensorflow as tf

tf.config.experimental.enable_op_determinism()
when, goes_on = int(sys.argv[1]), callbacks.EpochLog.on_train_batch_end

def dies(log, batch, logs=None):
    goes_on(log, batch, logs)
    if log.checkpoints.step + 1 == when:  # the step is done, its checkpoint is not
        os.kill(os.getpid(), signal.SIGKILL)

callbacks.EpochLog.on_train_batch_end = dies
sys.exit(main(sys.argv[2:]))
"""
# Dropout, a decaying rate, a group of its own, patience: all that has a state.
MORE = ["--epochs", "3", "--checkpoint-every", "4", "--dropout", "0.3"]
MORE += ["--embedding-learning-rate", "0.01", "--batch-tokens", "256", "--learning-rate", "0.02"]
TAGGER = ["--scheme", "bio", *labelling.SMALL, "--characters", "bilstm", "--decay", "0.9", *MORE]
CLASSIFIER = ["--encoder", "cnn", "--filters", "8", "--embedding-dim", "8", *MORE]
CLASSIFIER += ["--best-by", "auc", "--plateau-decay", "0.5", "--cut-share", "0.5", "--l2", "0.001"]
CLASSIFIER += ["--warmup-steps", "5"]


def train(program, files, flags, run, *more, when=0, code=0):
    line = [program, *files, *flags, "--run", str(run), *more]
    finish(start(("-c", KILLED, str(when)), *line), code)
    return run


def figures(run):
    """history.jsonl without what depends on the machine's pace."""
    lines = history(run)
    for line in lines:
        line.pop("training/tokens_per_second", None)
    return lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "program, flags, steps",
    [("train-tagger", TAGGER, (3, 11)), ("train-classifier", CLASSIFIER, (14,))],
)
def test_killed_and_resumed(request, tmp_path, program, flags, steps):
    files = request.getfixturevalue("tagged" if program == "train-tagger" else "labelled")
    whole = train(program, files, flags, tmp_path / "whole")
    run = tmp_path / "run"
    for number, step in enumerate(steps):  # killed again and again
        more = ["--resume"] if number else []
        train(program, files, flags, run, *more, when=step, code=-signal.SIGKILL)
        assert "best" not in (results(run) if (run / "results.json").exists() else {})
        latest = load_latest_checkpoint(run / "checkpoints")
        assert (latest[0] if latest else 0) < step
    train(program, files, flags, run, "--resume")

    assert figures(run) == figures(whole) and len(figures(run)) == 6
    assert json.dumps(results(run)) == json.dumps(results(whole))
    ours, theirs = (RunFolder.open(path).load_model().weights for path in (run, whole))
    assert len(ours) == len(theirs) > 5
    for weight, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(weight.numpy(), expected.numpy())
    arrays, expected = (load_latest_checkpoint(path / "checkpoints")[1] for path in (run, whole))
    assert {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in expected.items()
    }
