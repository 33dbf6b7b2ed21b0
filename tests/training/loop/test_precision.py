"""Tests how --precision auto is decided: for new and resumed runs, and for several workers."""

import argparse

import pytest

from tfreps._src.models.precision import Precision
from tfreps.runs import RunFolder
from tfreps.training.loop import precision as module
from tfreps.training.loop.precision import common, decide


class Workers:
    """Fake workers, each of which makes its own choice."""

    def __init__(self, *names):
        self.names = names

    def gather(self, value):
        assert value == ("bfloat16", "why")
        return [[name, f"reason {number}"] for number, name in enumerate(self.names)]


@pytest.fixture
def choose(monkeypatch):
    """Makes `choose_precision` return bfloat16 from 8 rows on; returns the list of its calls."""
    calls = []

    def chosen(*given):
        calls.append(given)
        return Precision("bfloat16" if given[1] >= 8 else "float32", "why")

    monkeypatch.setattr(module, "choose_precision", chosen)
    return calls


def settled(precision, earlier=None, rows=8):
    options = argparse.Namespace(precision=precision, distribute=None)
    decide(options, earlier, "bert", rows, width=4)
    return options.precision


def test_a_new_run(choose, capsys):
    assert settled("auto") == "bfloat16" and settled("auto", rows=7) == "float32"
    assert choose == [("bert", 8, 4, False), ("bert", 7, 4, False)]
    printed = capsys.readouterr().out
    assert printed == "Precision: bfloat16 (why).\nPrecision: float32 (why).\n"


@pytest.mark.parametrize("stored", ["float32", "bfloat16", "float16"])
def test_a_resumed_run_keeps_its_precision(choose, stored):
    earlier = RunFolder("run", "pretrain-bert", {"precision": stored})
    assert settled("auto", earlier) == stored and choose == []
    assert settled("auto", RunFolder("run", "pretrain-bert", {})) == "bfloat16"


@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_a_given_precision(choose, monkeypatch, capsys, is_slow, precision):
    monkeypatch.setattr(module, "bfloat16_is_slow", lambda: is_slow)
    assert settled(precision) == precision and choose == []
    printed = capsys.readouterr().out
    if is_slow and precision == "bfloat16":
        assert printed.startswith("Warning: this CPU has no native bfloat16 instructions.")
        assert "training 1.45 times and encoding 1.75 times slower" in printed
        assert printed.count("\n") == 1
    else:
        assert printed == ""


def test_workers_agree():
    choice = Precision("bfloat16", "why")
    assert common(Workers("bfloat16", "bfloat16"), choice) == choice
    expected = "float32", "the machines of the workers differ"
    assert common(Workers("bfloat16", "float32"), choice) == expected
    assert common(Workers("float16", "bfloat16", "bfloat16"), choice) == expected
