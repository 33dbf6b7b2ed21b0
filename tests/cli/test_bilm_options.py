"""Tests the flags that name a biLM, and the arguments of tfreps.load that they set."""

import argparse

import pytest

from tests import known_models
from tests.tiny_run import make_run
from tfreps.cli.bilm_options import add_bilm_flags, chosen_model, naming_flags, open_bilm


def parse(*arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?")
    add_bilm_flags(parser)
    return parser.parse_args(arguments)


def test_a_run_folder_or_published_files():
    assert chosen_model(parse("runs/elmo")) == ("runs/elmo", {})
    files = ["--options", "o.json", "--weights", "w.hdf5"]
    found = chosen_model(parse(*files, "--vocabulary", "v.txt", "--state", "warm"))
    how = {"weights_file": "w.hdf5", "vocabulary": "v.txt", "initial_state": "warm"}
    assert found == ("o.json", how)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["RUN", "--options", "o.json"],
        ["RUN", "--weights", "w.hdf5"],
        ["--options", "o.json"],
        ["RUN", "--options", "o.json", "--weights", "w.hdf5"],
    ],
)
def test_one_place_and_no_other(arguments):
    with pytest.raises(ValueError, match="either a run folder, or both --options FILE.json and"):
        chosen_model(parse(*arguments))


def test_carried_states_are_an_error_with_its_reason(capsys):
    with pytest.raises(SystemExit):
        parse("RUN", "--state", "carry")
    assert "would depend on the sentences before it" in " ".join(capsys.readouterr().err.split())


def test_errors_name_flags():
    with pytest.raises(ValueError, match="^--state is about a biLM, not --weights.$"):
        with naming_flags():
            raise ValueError("`initial_state` is about a biLM, not `weights_file`.")


def test_a_bilm_and_nothing_else(tmp_path):
    path, _ = make_run(tmp_path / "elmo")
    assert open_bilm(path, {"initial_state": "warm"}).bilm.initial_state == "warm"
    run = known_models.tagger_run(tmp_path / "tagger")
    with pytest.raises(ValueError, match=r"contains a tagger \(Tagger\); expected a biLM"):
        open_bilm(run.path, {})
    with pytest.raises(ValueError, match="--state applies only to a biLM, .* contains a tagger"):
        open_bilm(run.path, {"initial_state": "warm"})
