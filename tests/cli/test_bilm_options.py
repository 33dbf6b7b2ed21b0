"""Tests the flags that name a biLM, and the arguments of tfreps.load that they set."""

import pytest

from tfreps._src.cli import bilm_options
from tfreps._src.cli.bilm_options import chosen_model
from tfreps._src.cli.command import Command, Group

COMMAND = Command(
    "test", "Tests.", {"model": bilm_options.MODEL}, [Group("model", "A.", bilm_options.OPTIONS)]
)


def parse(*arguments):
    return COMMAND.parse(arguments)


def test_a_run_folder_or_published_files():
    assert chosen_model(parse("runs/elmo")) == ("runs/elmo", {})
    files = ["--elmo-config", "o.json", "--elmo-weights", "w.hdf5"]
    found = chosen_model(parse(*files, "--vocabulary", "v.txt", "--elmo-initial-state", "warm"))
    how = {"weights_file": "w.hdf5", "vocabulary": "v.txt", "initial_state": "warm"}
    assert found == ("o.json", how)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["RUN", "--elmo-config", "o.json"],
        ["RUN", "--elmo-weights", "w.hdf5"],
        ["--elmo-config", "o.json"],
        ["RUN", "--elmo-config", "o.json", "--elmo-weights", "w.hdf5"],
    ],
)
def test_one_place_and_no_other(arguments):
    with pytest.raises(ValueError, match="either MODEL, or both --elmo-config FILE and"):
        chosen_model(parse(*arguments))


def test_carried_states_are_an_error_with_its_reason(capsys):
    with pytest.raises(SystemExit):
        parse("RUN", "--elmo-initial-state", "carry")
    assert "depend on the sentences before it" in " ".join(capsys.readouterr().err.split())
