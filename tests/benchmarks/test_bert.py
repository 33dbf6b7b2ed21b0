import json

import pytest

from benchmarks import bert

TINY = {"vocabulary_size": 30001, "units": 4, "num_layers": 1, "num_heads": 2}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(bert.SHAPES, "base", TINY)
    monkeypatch.setitem(bert.SHAPES, "articles", TINY)
    for name, (task, shape, _, precision, goal) in list(bert.ROWS.items()):
        monkeypatch.setitem(bert.ROWS, name, (task, shape, 2, precision, goal))


@pytest.mark.parametrize("name", bert.ROWS)
def test_measures_a_row(small, name):
    result = bert.measure(name, 1)
    assert result["row"] == name and result["tokens_per_second"] > 0 and result["ratios"] == {}


def test_ratios_are_of_medians(small, monkeypatch, capsys):
    commands = []

    def in_turns(call, repeats, command):
        commands.append(command)
        return [0.5, 0.5, 9.0], [1.0, 1.0, 0.1]

    monkeypatch.setattr(bert, "in_turns", in_turns)
    result = bert.measure("base-8x128-float32", 8, keras_hub_python="PYTHON")
    assert commands == [
        ["PYTHON", "-m", "benchmarks.peer_keras_hub", "encode", json.dumps(TINY), "2"]
    ]
    bert.print_table([result])
    row = "| base-8x128-float32 | 512 | - | - | 256 | 2.00 | 1.15 x keras_hub |"
    assert capsys.readouterr().out.splitlines()[-1] == row
