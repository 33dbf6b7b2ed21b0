"""All plots of a run are drawn in its folder and in TensorBoard."""

import json
import sys

import numpy as np
import pytest

from tests.closeness import assert_close
from tests.tiny_run import make_pretrainer
from tfreps import plots
from tfreps._src.plots import run_plots
from tfreps.models import Classifier, Elmo, Tagger, TokenEmbedder
from tfreps.runs import RunFolder

pytest.importorskip("matplotlib", reason="plots need matplotlib (tfreps[plots])")


@pytest.fixture
def run(tmp_path):
    run = RunFolder.create(tmp_path / "run", "train-tagger", {})
    line = {"step": 4, "epoch": 1, "run": "train", "loss": 1.0}
    (run.logs_path / "history.jsonl").write_text(json.dumps(line) + "\n")
    return run


def drawn(run, model, monkeypatch, **more):
    """Returns plot names (folder and TensorBoard) and the values of bars and matrices."""
    shown, values = [], {}
    monkeypatch.setattr(
        run_plots, "show_in_tensorboard", lambda folder, figures: shown.extend(figures)
    )
    for name, plot in ("matrix_figure", "transitions"), ("plot_mix_weights", None):
        function = getattr(plots, name)

        def recorded(given, *arguments, function=function, plot=plot, **options):
            result = function(given, *arguments, **options)
            values[plot or result.stem] = np.asarray(given)
            return result

        monkeypatch.setattr(run_plots, name, recorded)
    assert plots.plot_run(run, model, **more) == []
    names = sorted(path.name for path in run.plots_path.iterdir())
    assert names == sorted(path.name for path in shown)
    return [name.removesuffix(".png") for name in names], values


def test_the_plots_of_a_tagger(run, monkeypatch):
    elmo = Elmo(make_pretrainer().bilm, dropout=0.0)
    elmo.mixes[0].scalar_weights.assign(np.log([1.0, 2.0, 5.0]))
    embedder = TokenEmbedder(elmo=elmo, vector_layers=2, vector_dim=3)
    model = Tagger(embedder, ["O", "B-X", "I-X"], "bio")
    names, values = drawn(run, model, monkeypatch, confusion_counts=np.eye(3, dtype=int))
    assert names == ["confusion", "elmo_mix", "learning_curves", "transitions", "vector_mix"]
    assert_close(values["elmo_mix"], [0.125, 0.25, 0.625])
    assert_close(values["vector_mix"], [0.5, 0.5])
    assert np.isnan(values["transitions"]).tolist() == [
        [False, False, True],  # O to I-X
        [False, False, False],
        [False, False, False],
    ]


def test_the_plots_of_a_classifier(run, monkeypatch):
    model = Classifier(TokenEmbedder(vocabulary_size=9), ["a", "b"])
    assert drawn(run, model, monkeypatch)[0] == ["learning_curves"]


def test_a_run_without_plots(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    (note,) = plots.plot_run(run, Classifier(TokenEmbedder(vocabulary_size=9), ["a"]))
    assert note.startswith("No plots were drawn. Plots require matplotlib")


def test_labels_without_a_font(run):
    model = Classifier(TokenEmbedder(vocabulary_size=9), ["a", "\U0010fffd"])
    (note,) = plots.plot_run(run, model, np.eye(2, dtype=int))
    assert note.startswith("Plots: No font on this machine has") and "`font`" not in note
    assert (run.plots_path / "confusion.png").exists()


def test_a_plot_that_cannot_be_drawn(run):
    (run.logs_path / "history.jsonl").write_text("no history\n")
    model = Classifier(TokenEmbedder(vocabulary_size=9), ["a", "b"])
    (note,) = plots.plot_run(run, model, np.eye(2, dtype=int))
    assert note.startswith("learning_curves.png was not drawn. ") and "history.jsonl" in note
    assert [path.name for path in run.plots_path.iterdir()] == ["confusion.png"]


def test_a_run_without_a_history_has_no_curves(run, monkeypatch):
    """Training ended in the first epoch."""
    (run.logs_path / "history.jsonl").unlink()
    model = Tagger(TokenEmbedder(5, 3), ["O", "B-X", "I-X"], "bio")
    names, _ = drawn(run, model, monkeypatch, confusion_counts=np.eye(3, dtype=int))
    assert names == ["confusion", "transitions"]
