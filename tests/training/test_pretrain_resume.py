"""Tests that resumed runs of `tfreps pretrain-elmo` are bit-identical."""

import json
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest

from tests.conftest import CHECKOUT
from tests.training.pretraining import SIZES, flags, history, losses, pretrain
from tfreps.__main__ import main
from tfreps._src.callbacks import checkpoint_file
from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps.runs import RunFolder

LEAST = ["--units", "8", "--projection-dim", "4", "--word-input", "--no-bidirectional"]

# Runs `tfreps` with the arguments after the first three, which are the step, the place and the
# number of a signal.
KILLED = """
import os, sys
from tfreps import callbacks
from tfreps._src.callbacks import checkpoint_file, checkpoints
from tfreps.__main__ import main

when, where, numbers = int(sys.argv[1]), sys.argv[2], [int(sys.argv[3])]

def die():
    if numbers:
        os.kill(os.getpid(), numbers.pop())

def die_behind(holder, name, step_of):
    function = getattr(holder, name)
    def wrapped(*args, **kwargs):
        result = function(*args, **kwargs)
        if step_of(*args) == when:
            die()
        return result
    setattr(holder, name, wrapped)

if where == "training":  # the step is done, its checkpoint is not
    step_of = lambda log, *_: log.step
    die_behind(callbacks.TrainingLog, "on_train_batch_end", step_of)
elif where == "saved":
    die_behind(checkpoints, "save_checkpoint", lambda folder, step, *_: step)
elif where == "saving":
    replace = os.replace
    def wrapped(source, target):
        die() if str(target).endswith(f"{when}.safetensors") else replace(source, target)
    checkpoint_file.os.replace = wrapped
elif where == "measuring":
    callbacks.TrainingLog.on_test_batch_end = (
        lambda log, *_, **__: die() if log.step == when else None
    )
elif where == "best":
    die_behind(callbacks.BestModel, "on_epoch_end", lambda best, *_: best.step)
sys.exit(main(sys.argv[4:]))
"""
# 17 steps are a pass; logs every 2 steps; checkpoints every 5 steps, and at 17 and 26.
FLAGS = ["--checkpoint-every", "5", "--deterministic", "--keep-checkpoints"]
STEPS = 26
MODELS = {"words": ["--units", "16", "--projection-dim", "4", "--word-input"], "characters": SIZES}


def start(code, *arguments):
    return subprocess.Popen(
        [sys.executable, *code, *arguments],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process, code):
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    return out + err


def start_training(corpus, run, model, *more, code=("-m", "tfreps")):
    return start(code, *flags(corpus, run, *FLAGS, *more, steps=STEPS, sizes=MODELS[model]))


def start_killed(corpus, run, model, when, where, number=signal.SIGKILL):
    code = "-c", KILLED, str(when), where, str(int(number))
    return start_training(corpus, run, model, code=code)


def resume(corpus, run, model):
    return finish(start_training(corpus, run, model, "--resume"), 0)


def assert_same_run(run, whole):
    for name in ("logs/history.jsonl", "results.json"):
        assert (run / name).read_text() == (whole / name).read_text()
    step, arrays, state = load_latest_checkpoint(run / "checkpoints")
    whole_step, whole_arrays, whole_state = load_latest_checkpoint(whole / "checkpoints")
    assert (step, state["callbacks"]) == (whole_step, whole_state["callbacks"]) and step == STEPS
    assert list(arrays) == list(whole_arrays)
    for name, array in whole_arrays.items():
        assert array.tobytes() == arrays[name].tobytes(), name
    ours, theirs = (RunFolder.open(path).load_model().weights for path in (run, whole))
    for weight, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(weight.numpy(), expected.numpy())


@pytest.mark.slow
def test_killed_in_mid_epoch_and_resumed(corpus, tmp_path):
    run, whole = tmp_path / "run", tmp_path / "whole"
    with start_training(corpus, whole, "words") as process:
        finish(start_killed(corpus, run, "words", 23, "training"), -signal.SIGKILL)
        assert load_latest_checkpoint(run / "checkpoints")[0] == 20
        assert [line["step"] for line in history(run)][-1] == 22
        assert "after step 20: 26 steps" in resume(corpus, run, "words")
        finish(process, 0)
    assert_same_run(run, whole)
    assert list(losses(run)) == list(range(2, 27, 2))


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    """Returns the folder of an uninterrupted run over characters."""
    run = tmp_path_factory.mktemp("whole") / "run"
    finish(start_training(corpus, run, "characters"), 0)
    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "when, where",
    [
        (3, "training"),  # before the first checkpoint
        (23, "training"),
        (5, "saved"),
        (10, "saving"),
        (17, "training"),  # the last step of the first pass
        (17, "measuring"),
        (17, "best"),  # after the best model is written, before its checkpoint
        (17, "saved"),
        (18, "training"),
        (26, "best"),
    ],
)
def test_killed_elsewhere(corpus, whole, tmp_path, when, where):
    run = tmp_path / "run"
    finish(start_killed(corpus, run, "characters", when, where), -signal.SIGKILL)
    resume(corpus, run, "characters")
    assert_same_run(run, whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    "when, where, stopped_at",
    [
        (7, "training", 7),
        (16, "training", 16),  # before the last step of the first pass
        (17, "training", 17),  # the resumed run measures the model
        (17, "measuring", 17),
        (17, "best", 17),
        (26, "best", 26),  # nothing is left to train
    ],
)
def test_a_signal_saves_a_checkpoint(corpus, whole, tmp_path, when, where, stopped_at):
    run = tmp_path / "my run"
    process = start_killed(corpus, run, "characters", when, where, signal.SIGTERM)
    err = finish(process, 143)
    message = f"stopped by SIGTERM at step {stopped_at}. Continue with: "
    (command,) = (line.split(message)[1] for line in err.splitlines() if message in line)
    assert command == f"tfreps pretrain-elmo --run '{run}' --resume"
    assert load_latest_checkpoint(run / "checkpoints")[0] == stopped_at
    finish(start(("-m",), *shlex.split(command)), 0)
    assert_same_run(run, whole)


@pytest.fixture(scope="module")
def short(corpus, tmp_path_factory):
    """Returns the arguments of a run of 12 steps with checkpoints at 10 and 12, and its losses."""
    run = tmp_path_factory.mktemp("short") / "run"
    options = {"steps": 12, "sizes": [], "validation": False}
    arguments = [corpus, run, *LEAST, "--checkpoint-every", "5", "--keep-checkpoints"]
    pretrain(*arguments, **options)
    return arguments, options, losses(run)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["torn", "flipped"])
def test_a_damaged_checkpoint_is_passed_over(short, capsys, damage):
    arguments, options, expected = short
    folder = arguments[1] / "checkpoints"
    newest = folder / "step-00000012.safetensors"
    data = bytearray(newest.read_bytes())
    data[-50] ^= 64
    newest.write_bytes(data if damage == "flipped" else data[:-100])
    pretrain(*arguments, "--resume", **options)
    out, err = capsys.readouterr()
    assert f"skipped the checkpoint {newest}" in err and "after step 10: 12 steps" in out
    assert err.count("step-00000010.safetensors is used\n") == 1
    assert losses(arguments[1]) == pytest.approx(expected, rel=1e-4)
    assert load_latest_checkpoint(folder)[0] == 12

    for path in folder.iterdir():  # no checkpoint is valid: training starts again
        path.write_bytes(b"")
    pretrain(*arguments, "--resume", **options)
    assert losses(arguments[1]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_disk_full(corpus, tmp_path, monkeypatch, capsys):
    """Training continues, and earlier files stay."""
    save_file, saved = checkpoint_file.safetensors.numpy.save_file, []

    def full(arrays, path, metadata):
        saved.append(path.name)
        if "00000006" in path.name or "00000008" in path.name:
            path.write_bytes(b"the first bytes")
            raise OSError(28, "No space left on device")
        save_file(arrays, path, metadata)

    monkeypatch.setattr(checkpoint_file.safetensors.numpy, "save_file", full)
    run, more = tmp_path / "run", [*LEAST, "--checkpoint-every", "2", "--keep-checkpoints"]
    pretrain(corpus, run, *more, steps=9, sizes=[], validation=False)
    assert len(saved) == 5 and list(losses(run)) == [2, 4, 6, 8]
    assert capsys.readouterr().err.count("No space left on device") == 2
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert names == ["step-00000004.safetensors", "step-00000009.safetensors"]


def refused(capsys, *arguments, **options):
    assert main(flags(*arguments, **options)) == 2
    err = capsys.readouterr().err
    assert err.startswith("tfreps pretrain-elmo: error: ") and err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    "head, message",
    [
        ({"command": "embed", "format_version": 4, "options": {}}, "a run of `tfreps embed`"),
        ({"command": "pretrain-elmo", "format_version": 1, "options": {}}, "an earlier version of"),
        ({"char_cnn": {}}, "not written by a tfreps command"),
    ],
)
@pytest.mark.parametrize("more", ["--resume", "--seed=1"])
def test_a_folder_of_another_kind(corpus, tmp_path, capsys, head, message, more):
    (tmp_path / "options.json").write_text(json.dumps(head))
    (tmp_path / "vocabulary.txt").write_text("mine")
    err = refused(capsys, corpus, tmp_path, *LEAST, more, sizes=[])
    if more == "--resume" or "format_version" not in head:
        assert message in err
    else:
        assert "already contains a run" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["options.json", "vocabulary.txt"]
