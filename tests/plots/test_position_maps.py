"""Position maps of both kinds of sinusoids and of a learned table, checked by formulas."""

import numpy as np
import pytest

from docs.by_hand import transformer
from tests.closeness import assert_close
from tfreps import plots
from tfreps._src.layers.position_embedding import sinusoids

pytest.importorskip("matplotlib", reason="plots need matplotlib (tfreps[plots])")
LEARNED = np.random.default_rng(0).normal(size=(24, 6)).astype("float32")


@pytest.mark.parametrize(
    "table", [sinusoids(100, 16), sinusoids(100, 16, "sinusoidal_full_index"), LEARNED]
)
def test_the_heat_map(table):
    axes = plots.position_map_figure(table, "mine").axes[0]
    image = axes.images[0]
    np.testing.assert_array_equal(image.get_array(), np.asarray(table, "float64"))
    low, high = image.get_clim()
    assert low == -high and high == pytest.approx(np.abs(table).max())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("dimension", "position")
    assert axes.get_title() == "mine"


def test_the_curves_are_the_waves_of_the_paper():
    axes = plots.position_curves_figure(sinusoids(50, 8), [4, 7]).axes[0]
    even, odd = (line.get_ydata() for line in axes.lines)
    assert_close([even, odd], transformer.sinusoids(50, 8).T[[4, 7]])
    assert [line.get_label() for line in axes.lines] == ["dimension 4", "dimension 7"]


def test_the_curves_of_the_aespresso():
    table = sinusoids(50, 8, "sinusoidal_full_index")
    (line,) = plots.position_curves_figure(table, [3]).axes[0].lines
    assert_close(line.get_ydata(), transformer.sinusoids(50, 8, "sinusoidal_full_index")[:, 3])


@pytest.mark.parametrize("first", [0, 1])
def test_the_surface_is_that_of_all_products(first, monkeypatch):
    from mpl_toolkits.mplot3d import Axes3D

    drawn = []
    original = Axes3D.plot_surface
    monkeypatch.setattr(
        Axes3D, "plot_surface", lambda *a, **k: (drawn.extend(a[1:]), original(*a, **k))[1]
    )
    table = sinusoids(8, 4, "sinusoidal_full_index").numpy()
    plots.position_surface_figure(table, first=first)
    columns, rows, products = drawn
    assert products.shape == (8 - first, 8 - first)
    for i, j in (0, 0), (2, 5), (6, 1):
        p, q = int(rows[i, j]), int(columns[i, j])
        assert (p, q) == (i + first, j + first)
        dot = sum(a * b for a, b in zip(table[p], table[q], strict=True))
        assert_close(products[i, j], dot)


def test_what_cannot_be_drawn():
    for dimensions in [6], [-1], []:
        with pytest.raises(ValueError, match=r"one or more numbers in \[0, 5\]"):
            plots.position_curves_figure(LEARNED, dimensions)
    with pytest.raises(ValueError, match="at least two positions .*; got 1"):
        plots.position_surface_figure(LEARNED, first=23)
    with pytest.raises(ValueError, match="`first` must be at least 0; got -5"):
        plots.position_surface_figure(LEARNED, first=-5)
    with pytest.raises(ValueError, match=r"dimensions\] .*; got the shape \(6,\)"):
        plots.position_map_figure(LEARNED[0])
