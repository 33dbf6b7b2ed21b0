"""Pictures: that they are drawn, whole or not at all, from the figures given."""

import json
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.tiny_run import make_pretrainer
from tfreps import plots
from tfreps.models import Classifier, Elmo, Tagger, TokenEmbedder
from tfreps.run_folder import RunFolder

pytest.importorskip("matplotlib", reason="pictures need matplotlib (tfreps[plots])")


def pixels(path):
    return tf.io.decode_png(path.read_bytes()).numpy()


def history(folder, *lines):
    path = folder / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_learning_curves_have_a_panel_for_each_figure(tmp_path):
    one = [{"step": 4, "epoch": 1, "run": "train", "loss": 1.0, "training/learning_rate": 0.1}]
    two = [*one, {"step": 4, "epoch": 1, "run": "validation", "loss": 2.0, "f1": 0.5}]
    narrow = pixels(plots.learning_curves(history(tmp_path, *one), tmp_path / "one.png"))
    wide = pixels(plots.learning_curves(history(tmp_path, *two), tmp_path / "two.png"))
    assert wide.shape[1] == 2 * narrow.shape[1] and wide.min() < 128
    assert sorted(path.name for path in tmp_path.glob("*.tmp")) == []
    with pytest.raises(ValueError, match="holds no epoch"):
        plots.learning_curves(history(tmp_path, {"step": 1, "run": "train"}), tmp_path / "no.png")


def test_a_confusion_matrix_shows_shares_of_rows(tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(plots, "matrix", lambda values, *_, **more: drawn.update(more, v=values))
    plots.confusion_matrix([[3, 1], [0, 0]], ["O", "B"], tmp_path / "c.png")
    np.testing.assert_allclose(drawn["v"], [[0.75, 0.25], [0.0, 0.0]])
    assert drawn["cells"].tolist() == [[3, 1], [0, 0]]


@pytest.mark.parametrize("count", [1, 3, 80])
def test_matrices_of_any_size(tmp_path, count):
    values = np.eye(count)
    values[0, 0] = np.nan
    names = [f"tag{n}" for n in range(count)]
    assert pixels(plots.matrix(values, names, names, tmp_path / "m.png")).shape[0] > 200


def test_mix_weights_in_tensorboard(tmp_path):
    path = plots.mix_weights([0.2, 0.5, 0.3], tmp_path / "mix.png")
    plots.show_in_tensorboard(tmp_path / "logs", [path], step=7)
    (events,) = (tmp_path / "logs" / "pictures").iterdir()
    steps = [
        (event.step, value.tag)
        for record in tf.data.TFRecordDataset(str(events))
        for event in [tf.compat.v1.Event.FromString(record.numpy())]
        for value in event.summary.value
    ]
    assert steps == [(7, "mix")]


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match=r"pip install 'tfreps\[plots\]'"):
        plots.mix_weights([1.0], tmp_path / "mix.png")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def run(tmp_path):
    run = RunFolder.create(tmp_path / "run", "train-tagger", {})
    history(run.logs_path, {"step": 4, "epoch": 1, "run": "train", "loss": 1.0})
    return run


def drawn(run, model, monkeypatch, **more):
    """Names of the pictures of a run, those in TensorBoard, and the values of bars and matrices."""
    shown, values = [], {}
    monkeypatch.setattr(plots, "show_in_tensorboard", lambda logs, pictures: shown.extend(pictures))
    for name in ("matrix", "mix_weights"):
        function = getattr(plots, name)

        def recorded(given, *arguments, function=function, **options):
            path = function(given, *arguments, **options)
            values[path.stem] = np.asarray(given)
            return path

        monkeypatch.setattr(plots, name, recorded)
    plots.draw_run(run, model, **more)
    names = sorted(path.name for path in run.pictures_path.iterdir())
    assert names == sorted(path.name for path in shown)
    return [name.removesuffix(".png") for name in names], values


def test_the_pictures_of_a_tagger(run, monkeypatch):
    elmo = Elmo(make_pretrainer().bilm, dropout=0.0)
    elmo.mixes[0].scalar_weights.assign(np.log([1.0, 2.0, 5.0]))
    embedder = TokenEmbedder(elmo=elmo, vector_layers=2, vector_dim=3)
    model = Tagger(embedder, ["O", "B-X", "I-X"], "bio")
    names, values = drawn(run, model, monkeypatch, confusion=np.eye(3, dtype=int))
    assert names == ["confusion", "elmo_mix", "learning_curves", "transitions", "vector_mix"]
    np.testing.assert_allclose(values["elmo_mix"], [0.125, 0.25, 0.625], atol=1e-6)
    np.testing.assert_allclose(values["vector_mix"], [0.5, 0.5])
    assert np.isnan(values["transitions"]).tolist() == [
        [False, False, True],  # O to I-X
        [False, False, False],
        [False, False, False],
    ]


def test_the_pictures_of_a_classifier(run, monkeypatch):
    model = Classifier(TokenEmbedder(vocabulary_size=9), ["a", "b"])
    assert drawn(run, model, monkeypatch)[0] == ["learning_curves"]


def test_a_run_without_pictures(run, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    plots.draw_run(run, Classifier(TokenEmbedder(vocabulary_size=9), ["a"]))
    assert "No pictures: Pictures need matplotlib" in capsys.readouterr().out
