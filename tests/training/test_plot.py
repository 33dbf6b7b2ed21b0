"""Tests `tfreps plot`: the figures, and errors before anything is computed."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tests import known_models, tiny_bert, tiny_run
from tests.closeness import assert_close
from tfreps.__main__ import main
from tfreps.models import Elmo, Tagger, TokenEmbedder
from tfreps.runs import RunFolder
from tfreps.tags import TagSet
from tfreps.training import plot

pytest.importorskip("matplotlib", reason="plots need matplotlib (tfreps[plots])")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Returns a run folder with a model and the history of two epochs."""
    folder = tmp_path_factory.mktemp("plot") / "run"
    path, _ = tiny_bert.write_run(folder, tiny_bert.pieces("the", "river", "bank"))
    lines = [{"step": 4, "epoch": n, "run": "train", "loss": 1 / n} for n in (1, 2)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (RunFolder.open(path).logs_path / "history.jsonl").write_text(text)
    return path


def draw(*arguments):
    return main(["plot", *map(str, arguments)])


def is_png(path):
    return tf.io.decode_png(path.read_bytes()).shape[0] > 200


@pytest.mark.slow
def test_attention(run, tmp_path, capsys):
    output = tmp_path / "attention.png"
    flags = ["--layer", 2, "--head", 1, "--tensorboard", tmp_path / "logs", "--output", output]
    assert draw("attention", run, "--text", "the river", "--second", "bank", *flags) == 0
    assert is_png(output) and capsys.readouterr().out == f"{output}\n"
    assert len(list((tmp_path / "logs" / "plots").iterdir())) == 1


def test_the_options_reach_the_figure(run, tmp_path):
    flags = ["--text", "the river", "--head", "2", "--output", str(tmp_path / "a.png")]
    options = plot.ATTENTION.parse([str(run), *flags])
    axes = plot.draw_attention(options).axes[0]
    assert axes.get_title() == "attention: mean of 2 layers, head 2"
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["[CLS]", "the", "rive", "##r", "[SEP]"]


@pytest.mark.slow
def test_characters_without_a_font(tmp_path, capsys):
    private = "\U0010fffd"
    path, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.characters(f"a{private}"))
    output = tmp_path / "a.png"
    assert draw("attention", path, "--text", f"a{private}", "--output", output) == 0
    assert "No font on this machine has" in capsys.readouterr().err and is_png(output)
    font = tmp_path / "a.ttf"
    font.write_text("none")
    assert (
        draw("attention", path, "--text", "a", "--font", font, "--output", tmp_path / "b.png") == 2
    )
    assert "a.ttf is not a font file" in capsys.readouterr().err


@pytest.mark.few(1)
@pytest.mark.parametrize("view", ["map", "curves", "surface"])
def test_positions(view, run, tmp_path):
    output = tmp_path / "p.png"
    waves = ["--positions", "sinusoidal_full_index", "--length", 20, "--hidden-dim", 8]
    assert draw("positions", *waves, "--view", view, "--output", output) == 0
    assert is_png(output)
    options = ["positions", run, "--view", view, "--output", tmp_path / "learned.png"]
    assert draw(*options) == 0 and is_png(tmp_path / "learned.png")
    assert (tmp_path / "learned.png").read_bytes() != output.read_bytes()


def test_curves(run, tmp_path):
    assert draw("curves", run, "--output", tmp_path / "c.png") == 0
    assert is_png(tmp_path / "c.png")
    options = plot.CURVES.parse([str(run), "--metrics", "loss", "--output", "c.png"])
    (axes,) = plot.draw_curves(options).axes
    assert axes.lines[0].get_xydata().tolist() == [[1, 1], [2, 0.5]]


def labeling_run(path, seeds=None, step=8):
    """Returns the folder of a run of a tagger with two epochs, without its model."""
    run = RunFolder.create(path, "train-tagger", {"seeds": seeds})
    lines = [{"step": 4 * n, "epoch": n, "run": "validation", "loss": step / n} for n in (1, 2)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (run.logs_path / "history.jsonl").write_text(text)
    TagSet(["O", "B-X"], "bio").write(run.tags_path)
    run.write_results({"best": {"step": step}, "test": {"confusion": [[3, 1], [0, 2]]}})
    return run


def test_curves_of_seeds(tmp_path):
    run = labeling_run(tmp_path / "run", seeds=[2, 5])
    for seed, step in (2, 8), (5, 4):
        labeling_run(tmp_path / "run" / f"seed-{seed}", step=step)
    other = labeling_run(tmp_path / "other")
    options = plot.CURVES.parse([str(run.path), str(other.path), "--output", "c.png"])
    figure = plot.draw_curves(options)
    (axes,) = figure.axes
    assert [x.get_xydata().tolist() for x in axes.lines] == [[[1, 6], [2, 3]], [[1, 8], [2, 4]]]
    stars = [x.get_offsets().tolist() for x in axes.collections[1:]]
    assert stars == [[[2, 4], [1, 4]], [[2, 4]]]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["run validation", "best epoch", "other validation"]


def test_confusion(tmp_path, capsys):
    run = labeling_run(tmp_path / "run")
    assert draw("confusion", run.path, "--output", tmp_path / "c.png") == 0
    assert is_png(tmp_path / "c.png")
    options = plot.CONFUSION.parse([str(run.path), "--output", "c.png"])
    axes = plot.draw_confusion(options).axes[0]
    assert [text.get_text() for text in axes.texts] == ["3", "1", "0", "2"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["O", "B-X"]
    part = ["--part", "validation", "--output", tmp_path / "d.png"]
    assert draw("confusion", run.path, *part) == 2
    err = capsys.readouterr().err
    assert "it has no results of validation but those of test. Measure them with tfreps" in err


def mixing_run(path, shares, elmo=None):
    """Writes a run of a tagger with a mix of precomputed vectors, whose shares are given."""
    run = RunFolder.create(path, "train-tagger", {"tokens": "spaces"})
    embedder = TokenEmbedder(7, 3, vector_layers=len(shares), vector_dim=2, elmo=elmo)
    embedder.vector_mix.scalar_weights.assign(np.log(shares))
    TagSet(known_models.TAGS, "bio").write(run.tags_path)
    return str(known_models.keep(run, Tagger(embedder, known_models.TAGS, "bio")).path)


def test_mix(tmp_path, capsys):
    elmo = Elmo(tiny_run.make_pretrainer().bilm, mix_weights=np.log([1.0, 1.0, 2.0]).tolist())
    runs = [
        mixing_run(tmp_path / "ner", [0.125, 0.25, 0.625]),
        mixing_run(tmp_path / "pos", [0.75, 0.25], elmo),
    ]
    figure = plot.draw_mix(plot.MIX.parse([*runs, "--output", "c.png"]))
    bars = [[bar.get_height() for bar in bars] for bars in figure.axes[0].containers]
    shares = [0.125, 0.25, 0.625], [0.75, 0.25], [0.25, 0.25, 0.5]
    for found, expected in zip(bars, shares, strict=True):
        assert_close(found, expected)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["ner", "pos vector_mix", "pos elmo_mix"]
    assert draw("mix", runs[0], "--output", tmp_path / "c.png") == 0
    assert is_png(tmp_path / "c.png") and "c.png" in capsys.readouterr().out
    other = known_models.tagger_run(tmp_path / "other").path
    assert draw("mix", runs[0], other, "--output", tmp_path / "d.png") == 2
    assert "other has no mix. Train a model with --elmo, or with" in capsys.readouterr().err


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "line, message",
    [
        ("attention RUN --text the --output a.jpg", "--output must end in .png"),
        ("attention RUN --text the --output nowhere/a.png", "there is no folder nowhere"),
        ("attention RUN --text the --layer 3 --output a.png", "--layer must be in [1, 2]; got 3"),
        ("attention RUN --text the --head 3 --output a.png", "--head must be in [1, 2]; got 3"),
        ("attention RUN --text the --head 0 --output a.png", "--head must be at least 1; got 0"),
        ("attention nowhere --text the --output a.png", "nowhere does not exist"),
        ("positions --length 0 --output a.png", "--length must be at least 1"),
        (
            "positions --hidden-dim 4 --view curves --dimensions 4 --output a.png",
            "--dimensions must be one or more numbers in [0, 3]",
        ),
        (
            "positions RUN --hidden-dim 4 --output a.png",
            "--hidden-dim has no effect with MODEL; omit one",
        ),
        ("positions RUN --positions sinusoidal --output a.png", "--positions has no effect"),
        (
            "positions RUN --normalize-positions --output a.png",
            "--normalize-positions has no effect with MODEL",
        ),
        (
            "positions RUN --length 25 --output a.png",
            "the number of position vectors that the model learned",
        ),
        ("positions --first 1 --output a.png", "--first has no effect with --view map; it applies"),
        (
            "positions --dimensions 1 --view surface --output a.png",
            "--dimensions has no effect with --view surface; it applies to curves",
        ),
        ("positions --first -1 --view surface --output a.png", "--first must be at least 0"),
        (
            "curves RUN --metrics f1 --output a.png",
            "--metrics contains 'f1', which the runs do not have",
        ),
        ("curves . --output a.png", "not a run folder"),
        ("confusion RUN --output a.png", "it has no results of a tagger or classifier. Measure"),
        ("mix RUN --output a.png", "expected a tagger or classifier"),
    ],
)
def test_mistakes(line, message, run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert draw(*(str(run) if part == "RUN" else part for part in line.split())) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_run_without_figures(tmp_path, capsys):
    path, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces("the"))
    assert draw("curves", path, "--output", tmp_path / "a.png") == 2
    assert "must be a run folder with logged metrics" in capsys.readouterr().err


def test_help(capsys):
    for arguments in ["--help"], []:
        with pytest.raises(SystemExit) as end:
            draw(*arguments)
        assert end.value.code == 0
        text = capsys.readouterr().out
        assert all(name in text for name in plot.COMMANDS) and "tfreps plot curves runs/" in text
    with pytest.raises(SystemExit) as end:
        draw("surface", "--output", "a.png")
    assert end.value.code == 2 and "invalid choice: 'surface'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        draw("attention", "--help")
    assert "counted from 1" in capsys.readouterr().out
