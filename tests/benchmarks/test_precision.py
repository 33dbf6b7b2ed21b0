"""Tests the benchmark of precisions: its rows, and the median of steps that alternate."""

import pytest

from benchmarks import precision, precision_models
from tfreps.models.precision import LEAST


def test_medians_of_steps_that_alternate(monkeypatch, capsys):
    calls = []
    seconds = {"float32": (2.0, 3.0), "mixed_bfloat16": (1.0, 2.0)}

    def training_step(policy, *how):
        assert how == ("bert", "bert_mini", 32, 128)
        return policy

    monkeypatch.setattr(precision_models, "training_step", training_step)
    monkeypatch.setattr(precision, "timed", lambda step: calls.append(step) or seconds[step])
    result = precision.measure("bert-mini-32x128", repeats=2)
    assert calls == ["float32", "mixed_bfloat16"] * (precision.UNTIMED + 2)
    expected = {"row": "bert-mini-32x128", "float32": 2048, "bfloat16": 4096}
    assert result == {**expected, "ratio": 2.0, "cpu_ratio": 1.5}
    precision.print_table([result])
    assert "| bert-mini-32x128 | 2,048 | 4,096 | 2.00 | 1.50 |" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [kind for kind, least in LEAST.items() if least])
def test_every_kind_was_measured(kind):
    assert any(kind in (what, getattr(how, "get", str)("encoder")) for what, how, *_ in ROWS)


ROWS = precision.ROWS.values()
