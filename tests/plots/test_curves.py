"""Learning curves show the points of the histories, for one or more runs."""

import json

import pytest
import tensorflow as tf

from tfreps import plots

pytest.importorskip("matplotlib", reason="plots need matplotlib (tfreps[plots])")


def history(folder, *lines, name="history.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def line(step, run="train", **figures):
    return {"step": step, "run": run, **figures}


def points(axes):
    """Returns the style and points of each line of a panel."""
    return [(x.get_linestyle(), list(map(tuple, x.get_xydata().tolist()))) for x in axes.lines]


def test_a_panel_for_each_figure(tmp_path):
    one = [line(4, epoch=1, loss=1.0, **{"training/learning_rate": 0.1})]
    two = [*one, line(4, "validation", epoch=1, loss=2.0, f1=0.5)]
    sizes = [
        tf.io.decode_png(
            plots.figure_to_png(plots.learning_curves_figure({"": history(tmp_path, *lines)}))
        ).shape
        for lines in (one, two)
    ]
    assert sizes[1][1] == 2 * sizes[0][1]


def test_points_over_epochs(tmp_path):
    lines = [
        line(2, loss=9.0),  # within an epoch
        line(4, epoch=1, loss=1.0),
        line(4, "validation", epoch=1, loss=2.0),
        line(8, epoch=2, loss=0.5),
    ]
    (axes,) = plots.learning_curves_figure({"": history(tmp_path, *lines)}).axes
    assert points(axes) == [("--", [(1, 1.0), (2, 0.5)]), ("-", [(1, 2.0)])]
    assert axes.get_xlabel() == "epoch" and axes.get_title() == "loss"
    path = history(tmp_path, *lines)
    (axes,) = plots.learning_curves_figure({"": path}, x_axis="step").axes
    assert points(axes) == [("--", [(2, 9.0), (4, 1.0), (8, 0.5)]), ("-", [(4, 2.0)])]
    assert axes.get_xlabel() == "step"
    with pytest.raises(ValueError, match="one of epoch, step, or None; got 'hour'"):
        plots.learning_curves_figure({"": path}, x_axis="hour")
    runs = {"a": path, "b": history(tmp_path, line(3, loss=4.0), name="b.jsonl")}
    (axes,) = plots.learning_curves_figure(runs).axes  # one of the runs has no epochs
    assert len(axes.lines) == 3 and axes.get_xlabel() == "step"


def test_points_over_steps(tmp_path):
    lines = [
        line(100, **{"training/sampled_perplexity": 800.0}),
        line(150, "validation", **{"perplexity/mean": 400.0}),
        line(300, "validation", **{"perplexity/mean": 15.0}),
    ]
    path = history(tmp_path, *lines)
    (axes,) = plots.learning_curves_figure({"": path}).axes
    assert points(axes) == [("-", [(150, 400.0), (300, 15.0)])]
    assert axes.get_yscale() == "log"  # because of its large range
    (axes,) = plots.learning_curves_figure({"": path}, ["training/sampled_perplexity"]).axes
    assert points(axes) == [("--", [(100, 800.0)])]
    (axes,) = plots.learning_curves_figure({"": history(tmp_path, lines[0])}).axes
    assert axes.get_title() == "training/sampled_perplexity"  # because there are no other metrics


def test_several_runs_have_a_color_each(tmp_path):
    runs = {
        "a": history(
            tmp_path, line(4, epoch=1, loss=1.0), line(4, "validation", epoch=1, loss=2.0)
        ),
        "b": history(tmp_path, line(9, epoch=1, loss=3.0, f1=0.5), name="b.jsonl"),
    }
    figure = plots.learning_curves_figure(runs)
    loss, f1 = figure.axes
    colors = [x.get_color() for x in loss.lines]
    assert colors[0] == colors[1] != colors[2] and f1.lines[0].get_color() == colors[2]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["a train", "a validation", "b train"]
    wide = {f"f{n}": 1.0 for n in range(6)}
    assert len(plots.learning_curves_figure({"": history(tmp_path, line(1, **wide))}).axes) == 6


def test_seeds_are_a_line_of_means_in_a_band(tmp_path):
    """The second seed has one epoch more; the third point of the band is its value alone."""
    figures = [(1.0, 3.0), (2.0, 6.0, 5.0)]
    paths = [
        history(
            tmp_path,
            *(line(4 * n, "validation", epoch=n, f1=f1) for n, f1 in enumerate(values, 1)),
            name=f"{len(values)}.jsonl",
        )
        for values in figures
    ]
    figure = plots.learning_curves_figure({"a": paths}, best_steps={"a": [4, 12]})
    (axes,) = figure.axes
    assert points(axes) == [("-", [(1, 1.5), (2, 4.5), (3, 5.0)])]
    band, stars = axes.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert corners == {(1, 1), (1, 2), (2, 3), (2, 6), (3, 5)}
    assert stars.get_offsets().tolist() == [[1, 1.0], [3, 5.0]]  # the best epoch of each seed
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["validation", "best epoch"]
    (axes,) = plots.learning_curves_figure({"": paths[0]}, best_steps={"": [None]}).axes
    assert not axes.collections


@pytest.mark.parametrize("line", ["[" * 100_000, '["step", "run"]', "7"], ids=["deep", "list", "7"])
def test_histories_of_something_else(tmp_path, line):
    from tfreps._src.plots.curves import read_history

    path = tmp_path / "history.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match="history.jsonl, line 1: expected the metrics of a run"):
        read_history(path)


def test_histories_without_figures(tmp_path):
    with pytest.raises(ValueError, match="history.jsonl must contain metrics per step"):
        plots.learning_curves_figure({"": history(tmp_path, line(1))})
    path = history(tmp_path, line(1, epoch=1, loss=1.0))
    with pytest.raises(ValueError, match="`metrics` contains 'f1', .* They have loss"):
        plots.learning_curves_figure({"": path}, ["f1"])
    path.write_text('{"step": 1, "run": "train", "loss": 1.0}\n[1]\n')
    with pytest.raises(ValueError, match="history.jsonl, line 2: expected the metrics of a run"):
        plots.learning_curves_figure({"": path})
    path.write_text('{"step": 1, "run": "train", "loss": 1.0}\n{"step": 2, "ru')
    assert len(plots.learning_curves_figure({"": path}).axes[0].lines) == 1  # still being written
