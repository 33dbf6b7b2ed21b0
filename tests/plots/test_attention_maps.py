"""Attention maps show the requested layer and head, or the mean."""

import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps import plots

pytest.importorskip("matplotlib", reason="plots need matplotlib (tfreps[plots])")
ATTENTION = np.random.default_rng(0).dirichlet(np.ones(4), (3, 2, 4))  # [L, H, T, T]


@pytest.mark.parametrize(
    "layer, head, values, title",
    [
        (3, 1, ATTENTION[2, 0], "layer 3, head 1"),
        (2, None, ATTENTION[1].mean(0), "layer 2, mean of 2 heads"),
        (None, 2, ATTENTION[:, 1].mean(0), "mean of 3 layers, head 2"),
        (None, None, ATTENTION.mean((0, 1)), "mean of 3 layers and 2 heads"),
    ],
)
def test_what_is_drawn(layer, head, values, title):
    axes = plots.attention_figure(ATTENTION, list("abcd"), layer, head).axes[0]
    assert_close(axes.images[0].get_array(), values)
    assert_close(values.sum(axis=1), 1.0)
    assert axes.get_title() == f"attention: {title}"
    assert [label.get_text() for label in axes.get_xticklabels()] == list("abcd")
    low, high = axes.images[0].get_clim()
    assert low == 0 and high == pytest.approx(values.max())


def test_what_cannot_be_drawn():
    for wrong in {"layer": 0}, {"layer": 4}, {"head": 3}, {"head": -1}:
        ((name, number),) = wrong.items()
        with pytest.raises(ValueError, match=rf"`{name}` must be in \[1, .*\]; got {number}"):
            plots.select_attention(ATTENTION, **wrong)
    with pytest.raises(ValueError, match=r"tokens\]; got \(2, 4, 4\)"):
        plots.attention_figure(ATTENTION[0], list("abcd"))
    with pytest.raises(ValueError, match="4 tokens, one per row of the attention; got 3"):
        plots.attention_figure(ATTENTION, list("abc"))


def test_many_tokens():
    attention = np.full([1, 1, 300, 300], 1 / 300)
    axes = plots.attention_figure(attention, ["a"] * 300).axes[0]
    assert len(axes.get_xticklabels()) < 20  # numbers instead of names
