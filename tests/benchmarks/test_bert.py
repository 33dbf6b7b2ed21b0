import json

import pytest

from benchmarks import bert
from benchmarks.review_lengths import random_texts

TINY = {"vocabulary_size": 30001, "hidden_dim": 4, "num_layers": 1, "num_heads": 2}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(bert.SHAPES, "base", TINY)
    monkeypatch.setitem(bert.SHAPES, "aespresso", TINY)
    for name, (task, shape, _, precision, goal) in list(bert.ROWS.items()):
        monkeypatch.setitem(bert.ROWS, name, (task, shape, 2, precision, goal))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(bert.ROWS))
def test_measures_a_row(small, name):
    result = bert.measure(name, 1)
    assert result["row"] == name and result["tokens_per_second"] > 0
    assert sorted(result["ratios"]) == (["tensorflow_text"] if "wordpiece" in name else [])


def test_reviews_count_without_their_padding(small):
    _, tokens = bert.make_tune(TINY, 8, "float32")
    assert tokens == sum(map(len, random_texts(8)))


@pytest.mark.parametrize("accents", [False, True])
def test_pieces_are_those_of_the_peer_on_plain_text(small, accents):
    pytest.importorskip("tensorflow_text", reason="the peer")
    call, tokens, peer = bert.make_cut(500, 200, accents)
    assert call() == peer() and sum(call()) == tokens > 1000


@pytest.mark.slow
def test_ratios_are_of_medians(small, monkeypatch, capsys):
    commands = []

    def in_turns(call, repeats, command):
        commands.append((command, repeats))
        return [0.5, 0.5, 9.0], [1.0, 1.0, 0.1]

    monkeypatch.setattr(bert, "in_turns", in_turns)
    result = bert.measure("base-8x128-float32", 8, keras_hub_python="PYTHON")
    command = ["PYTHON", "-m", "benchmarks.peer_keras_hub", "encode", json.dumps(TINY), "2"]
    assert commands == [(command, 8)]
    bert.measure("mlm-32x128-float32", 8)
    assert commands[1:] == [(None, 3)]  # a third, rounded up
    bert.print_table([result])
    line = "| base-8x128-float32 | 512 | - | 256 (2.00 x) | - | 1.15 x keras_hub |"
    assert capsys.readouterr().out.splitlines()[-1] == line
