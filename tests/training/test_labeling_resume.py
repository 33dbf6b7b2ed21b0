"""Tests that resumed runs of taggers and classifiers are bit-identical."""

import json
import signal

import numpy as np
import pytest

from tests.training import labeling
from tests.training.labeling import history, results
from tests.training.test_pretrain_resume import finish, start
from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps.runs import RunFolder

# Runs `tfreps` with the arguments after the first two: the step at which it gets a signal (0:
# never), and the number of the signal.
KILLED = """
import os, signal, sys
from tfreps import callbacks
from tfreps.__main__ import main

when, number = map(int, sys.argv[1:3])
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of shells ignore it
goes_on = callbacks.EpochLog.on_train_batch_end

def dies(log, batch, logs=None):
    goes_on(log, batch, logs)
    if log.step == when:  # the step is done, its checkpoint is not
        os.kill(os.getpid(), number)

callbacks.EpochLog.on_train_batch_end = dies
sys.exit(main(sys.argv[3:]))
"""
# Options with a state to restore: dropout, a decaying rate, a group of variables, patience.
MORE = ["--epochs", "3", "--checkpoint-every", "4", "--dropout", "0.3"]
MORE += ["--batch-tokens", "256", "--learning-rate", "0.02"]
MORE += ["--set", "embedding_learning_rate=0.01", "--deterministic", "--keep-checkpoints"]
TAGGER = ["--scheme", "bio", *labeling.SMALL, "--characters", "bilstm", "--set", "decay=0.9", *MORE]
CLASSIFIER = ["--encoder", "cnn", "--set", "num_filters=8", "--embedding-dim", "8", *MORE]
CLASSIFIER += ["--monitor", "val_auc", "--set", "plateau_decay=0.5", "truncation_rate=0.5"]
CLASSIFIER += ["--set", "l2=0.001", "--warmup-steps", "5"]


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["--precision", "auto"]])
def test_the_chosen_precision_is_stored_and_resumed_on_any_machine(
    tmp_path, monkeypatch, capsys, flags
):
    files, run = labeling.write_labeled(tmp_path, (30, 10, 10)), tmp_path / "run"
    instructions = "tfreps._src.models.precision.bfloat16_instructions"
    wide = ["--encoder", "slstm", "--units", "256", "--set", "num_steps=2", "--embedding-dim", "8"]
    monkeypatch.setattr(instructions, lambda: "AVX512_BF16")
    more = ["--epochs", 1, "--keep-checkpoints"]
    labeling.train_classifier(files, run, *more, sizes=wide)
    chosen = "Precision: bfloat16 (this CPU has AVX512_BF16 instructions).\n"
    assert chosen in capsys.readouterr().out
    monkeypatch.setattr(instructions, lambda: None)
    labeling.train_classifier(files, run, "--epochs", 2, *flags, "--resume", sizes=wide)
    printed = capsys.readouterr().out
    assert "Precision:" not in printed and "Warning: this CPU has no native bfloat16" in printed
    assert RunFolder.open(run).options["precision"] == "bfloat16"
    assert RunFolder.open(run).load_model().dtype_policy.name == "mixed_bfloat16"
    given = [*files, *wide, *labeling.FAST, "--run", run, "--resume", "--precision", "float32"]
    err = labeling.refused(capsys, "train-classifier", *map(str, given))
    assert "was started with different options: precision." in err


def train(program, files, flags, run, *more, when=0, number=0, code=0):
    line = [program, *files, *flags, "--run", str(run), *more]
    return finish(start(("-c", KILLED, str(when), str(number)), *line), code)


def interrupt(program, files, flags, run, *more, when, number):
    """Trains until a signal ends the command, and checks the run folder."""
    kill = number == signal.SIGKILL
    code = -number if kill else 128 + number
    err = train(program, files, flags, run, *more, when=when, number=int(number), code=code)
    latest = load_latest_checkpoint(run / "checkpoints")
    if kill:
        assert (latest[0] if latest else 0) < when
    else:
        assert latest[0] == when and not list(run.glob("*.lock"))
        command = f"Continue with: tfreps {program} --run {run} --resume"
        assert f"stopped by {number.name} at step {when}. {command}\n" in err


def figures(run):
    """Returns the lines of history.jsonl without values that depend on the machine's speed."""
    lines = history(run)
    for line in lines:
        line.pop("training/tokens_per_second", None)
    return lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "program, flags, steps",
    [
        ("train-tagger", TAGGER, {3: signal.SIGKILL, 11: signal.SIGTERM}),
        ("train-classifier", CLASSIFIER, {9: signal.SIGINT, 14: signal.SIGKILL}),
    ],
)
def test_killed_and_resumed(request, tmp_path, program, flags, steps):
    files = request.getfixturevalue("tagged" if program == "train-tagger" else "labeled")
    whole, run = tmp_path / "whole", tmp_path / "run"
    train(program, files, flags, whole)
    for times, (step, number) in enumerate(steps.items()):  # interrupted again and again
        more = ["--resume"] if times else []
        interrupt(program, files, flags, run, *more, when=step, number=number)
        assert "best" not in (results(run) if (run / "results.json").exists() else {})
    train(program, [], [], run, "--resume")  # as the message says

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
