"""Figures as files, bytes and TensorBoard images."""

import sys

import pytest
import tensorflow as tf

from tfreps import plots

pytest.importorskip("matplotlib", reason="plots need matplotlib (tfreps[plots])")


def images(logs):
    """Returns `(step, name, (height, width))` of all images in the event files."""
    for path in sorted((logs / "plots").iterdir()):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                width, height, png = tf.make_ndarray(value.tensor)
                assert tf.io.decode_png(png).shape[:2] == (int(height), int(width))
                yield event.step, value.tag, (int(height), int(width))


def test_a_figure_as_a_file(tmp_path):
    path = plots.save_figure(plots.new_figure(3, 2), tmp_path / "empty.png")
    assert tf.io.decode_png(path.read_bytes()).shape == (220, 330, 4)  # 110 dots per inch
    with pytest.raises(FileNotFoundError):
        plots.save_figure(plots.new_figure(3, 2), tmp_path / "nowhere" / "empty.png")
    assert [p.name for p in tmp_path.iterdir()] == ["empty.png"]


def test_a_figure_that_cannot_be_drawn_leaves_the_file_of_before(tmp_path):
    path = plots.save_figure(plots.new_figure(3, 2), tmp_path / "a.png")
    before, broken = path.read_bytes(), plots.new_figure(3, 2)
    broken.subplots().set_title("$\\frac{$")
    with pytest.raises(ValueError):
        plots.save_figure(broken, path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_images_in_tensorboard(tmp_path):
    path = plots.plot_mix_weights([0.2, 0.5, 0.3], tmp_path / "mix.png")
    plots.show_in_tensorboard(tmp_path / "logs", [path], step=7)
    assert list(images(tmp_path / "logs")) == [(7, "mix", (330, 440))]
    plots.show_in_tensorboard(tmp_path / "more", {"a": plots.new_figure(3, 2)})
    assert list(images(tmp_path / "more")) == [(0, "a", (220, 330))]


@pytest.mark.parametrize(
    "draw",
    [
        lambda folder: plots.plot_mix_weights([1.0], folder / "mix.png"),
        lambda folder: plots.find_fonts(["a"]),
    ],
)
def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch, draw):
    for name in "figure", "font_manager":
        monkeypatch.setitem(sys.modules, f"matplotlib.{name}", None)
    with pytest.raises(ValueError, match=r"pip install matplotlib"):
        draw(tmp_path)
    assert not list(tmp_path.iterdir())
