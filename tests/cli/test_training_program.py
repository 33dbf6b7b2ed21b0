"""Tests parsing, checks, new runs and resumed runs of a training program."""

import pytest

from tfreps.callbacks import stop_signals
from tfreps.cli.options import Option
from tfreps.cli.training_program import begin_run, make_parser, resume_command, run_program
from tfreps.runs.run_folder import RunFolder

PROGRAM = "train-tagger"
TABLES = {
    "data": {"train": Option(str, None, "Files.", many=True, required=True)},
    "training": {
        "epochs": Option(int, 3, "Passes.", at_least=1),
        "schedule": Option(str, "constant", "Schedule.", ["constant", "linear"]),
        "minutes": Option(float, None, "Time."),
        "test": Option(str, None, "File."),
    },
}


def run(folder, *words, **more):
    """Returns the options of the calls, and whether there was an earlier run."""
    seen = []

    def train(options, earlier):
        seen.append((vars(options), earlier is not None))
        begin_run(PROGRAM, options, earlier)
        return 0

    parser = make_parser(PROGRAM, "Trains.", TABLES)
    words = ["--run", str(folder), "--train", "a.txt", *words]
    assert run_program(PROGRAM, parser, TABLES, train, words, **more) == 0
    return seen[0]


def test_a_run_and_its_resumption(tmp_path):
    options, is_earlier = run(tmp_path / "run", "--epochs", "2")
    assert not is_earlier and options["epochs"] == 2 and options["train"] == ["a.txt"]
    assert stop_signals._state.way_on.endswith(f"train-tagger --run {tmp_path / 'run'} --resume")
    options, is_earlier = run(tmp_path / "run", "--resume", "--epochs", "4", "--minutes", "1")
    assert is_earlier and options["epochs"] == 4  # the rate is constant
    with pytest.raises(ValueError, match="started with different options: test"):
        run(tmp_path / "run", "--resume", "--test", "b.txt")
    run(tmp_path / "run", "--resume", "--test", "b.txt", free=["test"])


def test_the_length_of_a_run_whose_rate_depends_on_it(tmp_path):
    run(tmp_path / "run", "--schedule", "linear")
    with pytest.raises(ValueError, match="started with different options: epochs"):
        run(tmp_path / "run", "--resume", "--epochs", "4")


def test_checks_come_before_the_run(tmp_path):
    with pytest.raises(ValueError, match="--epochs must be at least 1"):
        run(tmp_path / "run", "--epochs", "0")

    def refuse(options):
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        run(tmp_path / "run", check=refuse)
    assert not (tmp_path / "run").exists()


def test_the_help(capsys):
    with pytest.raises(SystemExit):
        groups, examples = {"data": "Files to read."}, ("tfreps train-tagger --run r",)
        make_parser(PROGRAM, "Trains.", TABLES, groups, examples).parse_args(["--help"])
    out = capsys.readouterr().out
    assert "usage: tfreps train-tagger" in out and "Trains." in out
    assert "--resume" in out and "Passes (default: 3)." in out
    assert "data:\n  Files to read.\n" in out and out.endswith(" tfreps train-tagger --run r\n")
    assert "Files. Required for a new run." in out


def test_the_command_that_goes_on(tmp_path):
    begun = RunFolder(tmp_path / "my run", "train-tagger", {})
    assert resume_command(begun) == f"tfreps train-tagger --run '{tmp_path}/my run' --resume"
