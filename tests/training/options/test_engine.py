"""Commands with exports and with `--engine`: the same outputs and figures as with the run."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

from tests import known_models, tiny_bert
from tests.closeness import assert_close
from tests.convert.sentence_transformers_fixture import FOLDER
from tests.tiny_run import make_run
from tests.training.labeling import ask, refused
from tfreps.export import open_for_export, write_export, write_portable_export

CONLL = "Ada B-PER\nsaw O\nRome B-PER\n\nslept O\nRome B-LOC\n"
TABLE = "bad\tAda\ngood\tsaw\ngood\tRome Rome\ngood\tslept\n"
TEXT = "The dog put money in the bank .\n\nzebra\nthe left bank of the river\n"


def export(source, folder, format="saved_model"):
    signatures = open_for_export(source)
    if format == "saved_model":
        write_export(signatures, folder)
    else:
        write_portable_export(signatures, folder, format)
    return folder


@pytest.mark.slow
def test_evaluate_prints_the_figures_of_the_run(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    (tmp_path / "test.conll").write_text(CONLL)
    (tmp_path / "test.tsv").write_text(TABLE)
    how = {"format": "conll", "token_column": 0, "tag_column": -1}
    tagger = known_models.tagger_run(tmp_path / "tagger", **how).path
    how = {"format": "tab", "text_field": "text", "label_field": "label", "encoding": "utf-8"}
    classifier = known_models.classifier_run(tmp_path / "classifier", **how).path
    data = ["--data", tmp_path / "test.conll"]
    expected = ask("evaluate", tagger, *data)
    figures = expected[: expected.index("Wrote ")]
    for format in "saved_model", "onnx":
        found = ask("evaluate", export(tagger, tmp_path / f"tagger-{format}", format), *data)
        assert found == figures and "accuracy 0.8000" in found
    assert ask("evaluate", tagger, *data, "--engine", "onnxruntime") == figures
    data = ["--data", tmp_path / "test.tsv"]
    expected = ask("evaluate", classifier, *data)
    columns = ["--format", "tab", "--text-field", "text", "--label-field", "label"]
    exported = export(classifier, tmp_path / "classifier-saved")
    found = ask("evaluate", exported, *data, *columns)
    assert found == expected[: expected.index("Wrote ")] and "accuracy 0.7500" in found
    error = refused(capsys, "evaluate", exported, *data, "--fit-temperature")
    assert "--fit-temperature applies only to run folders, and " in error
    error = refused(capsys, "evaluate", exported, *data, "--token-column", "1")
    assert "--token-column has no effect with a classifier" in error


def vectors(path):
    with h5py.File(path) as file:
        return [file[str(number)][()] for number in range(len(TEXT.splitlines()))]


@pytest.mark.slow
def test_embed_writes_the_vectors_of_the_run(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    bert, _ = tiny_bert.write_checkpoint(tmp_path / "bert", tiny_bert.pieces("the", "bank"))
    mix = ["--layers", "mix", "--mix", "1,0,-1", "--gamma", "2"]
    layers = [[], ["--layers", "top"], ["--layers", "0"], ["--layers", "average"], mix]
    make_run(tmp_path / "elmo")
    for source, cases in (tmp_path / "elmo", layers), (bert, [["--dtype", "float16"]]):
        exported = export(source, tmp_path / f"{source.name}-saved")
        for number, case in enumerate(cases):
            names = [tmp_path / f"{source.name}-{number}-{name}.hdf5" for name in ("own", "found")]
            for path, output in zip((source, exported), names, strict=True):
                ask("embed", path, text, "--output", output, *case)
            for found, expected in zip(*map(vectors, reversed(names)), strict=True):
                assert_close(found, expected, terms=4096)
    exported = export(FOLDER / "model", tmp_path / "embedder")
    for path, output in (FOLDER / "model", "own.npy"), (exported, "found.npy"):
        out = ask("embed", path, text, "--output", tmp_path / output)
        assert "4 vectors of" in out
    own, found = (np.load(tmp_path / name) for name in ("own.npy", "found.npy"))
    assert_close(found, own, terms=4096)


def test_embed_refuses_what_an_export_has_not(tmp_path, capsys, monkeypatch):
    from tfreps._src.inference import exported

    program = type("Program", (), {"session": None, "about": {"vector_dim": 2}})
    embedder = exported.ExportedEmbedder(program, "exports/minilm")
    monkeypatch.setattr("tfreps.load", lambda *_, **__: embedder)
    (tmp_path / "text.txt").write_text(TEXT)
    output = ["--output", tmp_path / "x.npy"]
    error = refused(capsys, "embed", "x", tmp_path / "text.txt", *output, "--prompt", "query")
    assert "--prompt does not apply to exports/minilm, a text embedder" in error


@pytest.mark.slow
def test_tag_starts_without_tensorflow(tmp_path):
    pytest.importorskip("onnxruntime")
    run = known_models.tagger_run(tmp_path / "tagger").path
    expected = ask("tag", run, stdin=b"Ada saw Rome\n")
    assert ask("tag", run, "--engine", "onnxruntime", stdin=b"Ada saw Rome\n") == expected
    program = (
        "import sys; from tfreps._src.cli.commands import main; code = main(sys.argv[1:]); "
        "assert not {'tensorflow', 'keras'} & set(sys.modules); sys.exit(code)"
    )
    command = [sys.executable, "-c", program, "tag", run, "--engine", "onnxruntime"]
    done = subprocess.run(command, input="Ada saw Rome\n", capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (expected, 0), done.stderr
