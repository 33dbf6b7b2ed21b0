"""Tests parsing, checks, new runs and resumed runs of a training command."""

import argparse

import pytest

from tfreps._src.callbacks import stop_signals
from tfreps._src.callbacks.checkpoint_file import list_checkpoints, save_checkpoint
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.runs.run_manifest import has_data
from tfreps.runs import RunFolder
from tfreps.training.options.training_command import (
    begin_run,
    data_files,
    resume_command,
    training_run,
)
from tfreps.training.options.training_options import RUN_GROUP

DATA = {
    "train": Option(str, None, "Files.", many=True, required=True),
    "validation": Option(str, None, "Files.", many=True),
}
TRAINING = {
    "epochs": Option(int, 3, "Passes.", at_least=1),
    "schedule": Option(str, "constant", "Schedule.", ["constant", "linear"]),
    "time_limit_minutes": Option(float, None, "Time."),
    "keep_checkpoints": Option(bool, False, "Keep."),
    "test": Option(str, None, "File."),
}
COMMAND = Command(
    "train-tagger",
    "Trains.",
    {},
    [RUN_GROUP, Group("data", "Files to read.", DATA), Group("training", "Length.", TRAINING)],
)


@pytest.fixture(autouse=True)
def text(tmp_path, monkeypatch):
    """Returns the path of a.txt in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a rose")
    return tmp_path / "a.txt"


def run(folder, *words, **more):
    """Runs a training command; returns its options, and whether a run was resumed."""
    words = ["--run", str(folder), *words]
    words += [] if "--resume" in words else ["--train", "a.txt"]
    with training_run(COMMAND, words, **more) as (options, earlier):
        begin_run(COMMAND, options, earlier).write_options()
    return vars(options), earlier is not None


def test_a_run_and_its_resumption(tmp_path):
    options, is_earlier = run(tmp_path / "run", "--epochs", "2")
    assert not is_earlier and options["epochs"] == 2 and options["train"] == ["a.txt"]
    assert stop_signals._state.way_on.endswith(f"train-tagger --run {tmp_path / 'run'} --resume")
    options, is_earlier = run(
        tmp_path / "run", "--resume", "--epochs", "4", "--time-limit-minutes", "1"
    )
    assert is_earlier and options["epochs"] == 4  # the rate is constant
    with pytest.raises(ValueError, match="started with different options: test"):
        run(tmp_path / "run", "--resume", "--test", "b.txt")
    run(tmp_path / "run", "--resume", "--test", "b.txt", may_change=["test"])
    stored = RunFolder.open(tmp_path / "run").options  # the next resumption goes on with these
    assert stored["epochs"] == 4 and stored["test"] == "b.txt" and "resume" not in stored
    assert run(tmp_path / "run", "--resume", may_change=["test"])[0]["epochs"] == 4


def end(folder, *words):
    """Trains a run that ends with a model and one checkpoint, and returns its checkpoints."""
    words = ["--run", str(folder), "--train", "a.txt", *words]
    with training_run(COMMAND, words) as (options, earlier):
        begun = begin_run(COMMAND, options, earlier)
        begun.write_options()
        save_checkpoint(begun.checkpoints_path, 5, {}, {})
        begun.model_path.write_text("the model")
        begun.write_results({"best": {"steps": 5}})
    return list_checkpoints(folder / "checkpoints")


def test_the_checkpoints_of_a_run_that_has_ended_are_removed(tmp_path, capsys):
    folder = tmp_path / "run"
    assert end(folder) == [] and not (folder / "checkpoints").exists()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def resume(*words):
        words = ["--run", str(folder), "--resume", *words]
        with training_run(COMMAND, words, may_change=["test"]) as given:
            assert given == (None, None)

    resume()
    resume("--time-limit-minutes", "3")
    assert f"The run in {folder} has ended: there is nothing to train." in capsys.readouterr().out
    with pytest.raises(
        ValueError, match="^--epochs cannot change: .* a longer run .*resumed for m"
    ):
        resume("--epochs", "4")
    with pytest.raises(ValueError, match="^--test cannot change: .* 'tfreps evaluate .* --data"):
        resume("--test", "a.txt")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_checkpoints_stay_on_request_and_allow_more_epochs(tmp_path):
    folder = tmp_path / "run"
    assert [step for step, _ in end(folder, "--keep-checkpoints")] == [5]
    options, is_earlier = run(folder, "--resume", "--epochs", "4")
    assert is_earlier and options["epochs"] == 4 and options["keep_checkpoints"]


def test_the_length_of_a_run_whose_rate_depends_on_it(tmp_path):
    run(tmp_path / "run", "--schedule", "linear")
    with pytest.raises(ValueError, match="started with different options: epochs"):
        run(tmp_path / "run", "--resume", "--epochs", "4")

    assert RunFolder.open(tmp_path / "run").options["epochs"] == 3


def test_a_resumed_run_needs_the_data_that_it_was_started_with(tmp_path, text):
    folder = tmp_path / "run"
    run(folder)
    run(folder, "--resume")
    before = (folder / "options.json").read_text()
    text.write_text("a lily")  # of the same size
    with pytest.raises(ValueError, match="^--train: a.txt is not the file .* content with the"):
        run(folder, "--resume", "--epochs", "9")
    text.write_text("a rose is a rose")
    with pytest.raises(ValueError, match="^--train: a.txt .*expected 6 bytes; found 16 bytes"):
        run(folder, "--resume", "--epochs", "9")
    with pytest.raises(
        ValueError, match="^--validation must be the data that .*expected no files; got 1"
    ):
        text.write_text("a rose")
        run(folder, "--resume", "--validation", "a.txt")
    assert (folder / "options.json").read_text() == before


def test_moved_data(tmp_path, text):
    folder = tmp_path / "run"
    run(folder)
    text.rename(tmp_path / "b.txt")
    message = (
        r"^--train: 'a.txt' matches no file.* Paths in .*run/options.json are relative to the "
        "folder in which the run was started.*, as in --resume --train NEW/PATH.$"
    )
    with pytest.raises(ValueError, match=message):
        run(folder, "--resume")
    options, is_earlier = run(folder, "--resume", "--train", "b.txt")
    assert is_earlier and options["train"] == ["b.txt"]
    assert RunFolder.open(folder).options["train"] == ["b.txt"]


def test_the_paths_of_a_run_without_a_record_must_stay(tmp_path, text):
    folder = tmp_path / "run"
    run(folder)
    (folder / "manifest.json").unlink()
    (tmp_path / "b.txt").write_text("a rose")
    with pytest.raises(ValueError, match="started with different options: train"):
        run(folder, "--resume", "--train", "b.txt")
    run(folder, "--resume")
    assert has_data(folder)


def test_data_files(tmp_path, text):
    (tmp_path / "texts").mkdir()
    given = {"train": ["texts"], "validation": ["*.txt"], "vectors": "a.txt", "test": ["absent"]}
    found = data_files(argparse.Namespace(run="r", **given, unlabeled=None))
    assert found == {"train": ["texts"], "validation": ["a.txt"], "vectors": ["a.txt"]}


def test_options_without_effect_are_named(tmp_path):
    run(tmp_path / "run", "--time-limit-minutes", "3")
    assert RunFolder.open(tmp_path / "run").unused == ["keep_checkpoints", "test", "validation"]


def test_the_command_that_goes_on(tmp_path):
    begun = RunFolder(tmp_path / "my run", "train-tagger", {})
    assert resume_command(begun) == f"tfreps train-tagger --run '{tmp_path}/my run' --resume"
