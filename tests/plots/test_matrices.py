"""Matrices of various sizes and scripts show the given names, values and cells."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps import plots
from tfreps._src.plots import matrices
from tfreps.plots import Fonts

pytest.importorskip("matplotlib", reason="plots need matplotlib (tfreps[plots])")


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_a_confusion_matrix_shows_shares_of_rows(tmp_path, monkeypatch):
    drawn = {}

    def figure(values, *names, **more):
        drawn.update(more, v=values)
        return plots.new_figure(3, 2)

    monkeypatch.setattr(matrices, "matrix_figure", figure)
    plots.plot_confusion_matrix([[3, 1], [0, 0]], ["O", "B"], tmp_path / "c.png")
    assert_close(drawn["v"], [[0.75, 0.25], [0.0, 0.0]])
    assert drawn["cells"].tolist() == [[3, 1], [0, 0]]


@pytest.mark.parametrize("count, shows", [(30, True), (31, False)])
def test_cells_have_counts_that_do_not_overlap(count, shows):
    counts = np.full([count, count], 12345)
    figure = matrices.confusion_figure(counts, [f"n{i}" for i in range(count)])
    texts = figure.axes[0].texts
    assert len(texts) == count * count * shows
    if shows:
        figure.canvas.draw()
        first, second = (text.get_window_extent() for text in texts[:2])
        assert texts[0].get_text() == "12345" and first.x1 < second.x0


@pytest.mark.parametrize("count", [1, 3, pytest.param(80, marks=pytest.mark.slow)])
def test_matrices_of_any_size(tmp_path, count):
    values = np.eye(count)
    values[0, 0] = np.nan
    names = [f"tag{n}" for n in range(count)]
    path = plots.save_figure(plots.matrix_figure(values, names, names), tmp_path / "m.png")
    assert tf.io.decode_png(path.read_bytes()).shape[0] > 200


def test_names_and_values_of_a_figure():
    values = [[0.1, 0.2, 0.3], [0.4, np.nan, 0.6]]
    rows, columns = ["a", "[CLS]"], ["$x$", "b", "##s"]
    figure = plots.matrix_figure(values, rows, columns, x_label="to", y_label="from", title="t")
    axes = figure.axes[0]
    image = axes.images[0].get_array()
    np.testing.assert_array_equal(image.filled(-1), [[0.1, 0.2, 0.3], [0.4, -1, 0.6]])
    assert labels(axes.yaxis) == rows and labels(axes.xaxis) == columns
    assert [label.get_rotation() for label in axes.get_xticklabels()] == [90, 0, 90]
    assert [label.get_rotation() for label in axes.get_yticklabels()] == [0, 0]
    assert not any(label.get_parse_math() for label in axes.get_xticklabels())
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("to", "from", "t")
    assert image.shape == (2, 3)


def test_names_without_a_font():
    name = "\U0010fffd"
    with pytest.warns(UserWarning, match="No font on this machine has"):
        figure = plots.matrix_figure([[1.0]], [name], ["a"])
    assert labels(figure.axes[0].yaxis) == ["U+10FFFD"]
    fonts = Fonts(["DejaVu Sans"], name)  # the code that finds the fonts shows the hint
    assert labels(plots.matrix_figure([[1.0]], [name], ["a"], fonts=fonts).axes[0].yaxis) == [
        "U+10FFFD"
    ]


def test_mix_weights(tmp_path):
    path = plots.plot_mix_weights([0.2, 0.5, 0.3], tmp_path / "mix.png")
    assert tf.io.decode_png(path.read_bytes()).shape == (330, 440, 4)
    figure = matrices.mix_figure({"ner": [0.2, 0.5, 0.3], "pos": [0.6, 0.4]})
    (axes,) = figure.axes
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    assert heights == [[0.2, 0.5, 0.3], [0.6, 0.4]]
    places = [[bar.get_center()[0] for bar in bars] for bars in axes.containers]
    assert_close(places[0], [-0.2, 0.8, 1.8])
    assert_close(places[1], [0.2, 1.2])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ner", "pos"]


@pytest.mark.parametrize("count, named", [(100, True), (101, False)])
def test_many_names(count, named):
    names = [f"n{i}" for i in range(count)]
    figure = plots.matrix_figure(np.eye(count), names, names)
    assert (labels(figure.axes[0].xaxis) == names) == named
    width, height = figure.get_size_inches()
    assert (width > 20 and height > 20) == named  # room for the names
