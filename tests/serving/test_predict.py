"""Tests `tfreps predict`, which runs without tfreps."""

import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from serving import predict
from tests.closeness import assert_close
from tests.tiny_run import make_pretrainer
from tfreps.__main__ import main

SENTENCES = ["the dog\u3000left her\u00a0house .", "", "unknown words"]


@pytest.fixture(scope="module")
def exported(exported_elmo, tmp_path_factory):
    base = tmp_path_factory.mktemp("export")
    bilm = make_pretrainer().bilm.with_initial_state("warm")
    shutil.copytree(exported_elmo / "deep" / "export" / "1", base / "10")
    for name in ("9", "11", "new"):  # an older version, one without a model, and no version
        (base / name).mkdir()
    (base / "9" / "saved_model.pb").write_bytes(b"")
    return str(base), bilm


def ask(capsys, *arguments):
    assert main(["predict", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("given, expected", [(None, "true"), ("false", "false")])
def test_gpu_memory_grows_unless_the_user_decides_otherwise(tmp_path, monkeypatch, given, expected):
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", given or "")  # restored after the test
    if given is None:
        monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH")
    with pytest.raises(ValueError, match="cannot be loaded"):
        predict.load_signature(str(tmp_path), "default")
    assert os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] == expected


@pytest.mark.few(1)
@pytest.mark.parametrize("signature", ["default", "tokens"])
def test_every_number(exported, capsys, signature):
    folder, bilm = exported
    found = ask(capsys, folder, *SENTENCES, "--full", "--signature", signature)
    plain = [" ".join(sentence.split()) for sentence in SENTENCES]
    layers = bilm(tf.constant(plain))["layer_outputs"].numpy()
    assert [answer["text"] for answer in found] == SENTENCES
    assert [answer["tokens"] for answer in found] == [6, 0, 2]
    for row, answer in enumerate(found):
        n = answer["tokens"]
        assert_close(np.reshape(answer["lstm_outputs1"], [n, 12]), layers[row, 1, :n])
        mean = layers[row, :, :n].mean(axis=0).sum(axis=0) / max(n, 1)
        assert_close(answer["default"], mean)
        assert answer["shapes"]["word_emb"] == [n, 6]


@pytest.mark.slow
def test_from_a_file_and_from_standard_input(exported, tmp_path, capsys, monkeypatch):
    folder, _ = exported
    many = [f"sentence {n} of the house" for n in range(40)]  # more than one batch
    text = "\r\n".join(many) + "\n"
    (tmp_path / "text").write_text(text, newline="")
    expected = ask(capsys, folder, *many)
    assert ask(capsys, folder, "--file", str(tmp_path / "text")) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert ask(capsys, folder) == expected
    assert len(expected) == 40 and len(expected[0]["default"]) == predict.FIRST


def test_spans():
    text, tokens = "in New  York , the New York", "in New York , the New York".split()
    own = {"tokens": tokens, "tags": [""] * 7, "num_spans": np.int32(2)}
    own |= {"span_types": ["LOC", "LOC", ""], "span_starts": [1, 5, 0], "span_ends": [3, 7, 0]}
    own = {name: np.array(value, "S" if name[-1] == "s" else None) for name, value in own.items()}
    own |= {name: np.array(own[name], int) for name in ("span_starts", "span_ends", "num_spans")}
    own["confidences"] = np.array([1, 0.75, 0.5, 1, 1, 0.25, 0.5], "float32")
    spans = [
        {"type": "LOC", "start": 1, "end": 3, "text": "New  York", "confidence": 0.5},
        {"type": "LOC", "start": 5, "end": 7, "text": "New York", "confidence": 0.25},
    ]
    assert predict.of_tags(own, 7, False, text)["spans"] == spans
    spans[0]["text"] = "New York"  # the tokens are not in the text
    assert predict.of_tags(own, 7, False, text.lower())["spans"] == spans


@pytest.mark.slow
def test_as_a_plain_file_without_tfreps(exported, tmp_path):
    plain = tmp_path / "predict.py"
    plain.write_text(pathlib.Path(predict.__file__).read_text())
    command = [sys.executable, "-I", str(plain), exported[0], "the dog"]
    environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    options = {"capture_output": True, "text": True, "env": environment}
    done = subprocess.run(command, cwd=tmp_path, check=True, **options)
    assert done.stderr == ""
    assert json.loads(done.stdout)["shapes"]["elmo"] == [2, 12]
    wrong = subprocess.run([*command[:3], "none", "the dog"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: none is not a SavedModel")


@pytest.mark.slow
def test_what_cannot_be(exported, tmp_path, capsys):
    folder, _ = exported
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "saved_model.pb").write_bytes(b"\x08\x01\x12\xff\xff")
    (tmp_path / "latin").write_bytes("ein Fl\xfcgel\n".encode("latin-1"))
    (tmp_path / "nul").write_bytes(b"a\nb\0\n")
    (tmp_path / "mac").write_bytes(b"a\r\nb\rc\r")
    for arguments, message in [
        ([str(tmp_path), "a"], "has no saved_model.pb"),
        ([str(torn), "a"], "cannot be loaded as a SavedModel"),
        ([folder, "a", "--signature", "scores"], "); got 'scores'."),
        (
            [folder, "a", "--signature", "character_ids"],
            "must name a signature that takes sentences; 'character_ids' takes",
        ),
        ([folder, "a", "--file", "b"], "--file cannot be combined with sentences"),
        ([folder, "--file", str(tmp_path / "none")], "No such file"),
        ([folder, "--file", str(tmp_path / "latin")], "latin, line 1: expected UTF-8 text"),
        ([folder, "--file", str(tmp_path / "mac")], "mac, line 2: expected lines that end with"),
        (
            [folder, "--file", str(tmp_path / "nul")],
            "nul, line 2: expected UTF-8 text; got a NUL",
        ),
    ]:
        assert main(["predict", *arguments]) == 2
        captured = capsys.readouterr()
        assert message in captured.err and len(captured.err.splitlines()) == 1, captured.err
        assert not captured.out


@pytest.mark.parametrize("there", [True, False])
def test_operations_that_tensorflow_does_not_know(monkeypatch, there):
    """tensorflow-text is imported for them if it is installed; other errors are unchanged."""
    calls, imported = [], []

    def load(folder, **_):
        calls.append(folder)
        if not imported:
            raise RuntimeError("Op type not registered 'FastX' in binary")
        return "a model"

    def import_module(name):
        if not there:
            raise ImportError(f"No module named {name!r}")
        imported.append(name)

    monkeypatch.setattr(tf.saved_model, "load", load)
    monkeypatch.setattr(predict.importlib, "import_module", import_module)
    if there:
        assert predict.load(tf, "folder") == "a model"
        assert imported == ["tensorflow_text"] and calls == ["folder"] * 2
    else:
        with pytest.raises(ValueError, match="No module.*pip install tensorflow-text"):
            predict.load(tf, "folder")
    monkeypatch.setattr(tf.saved_model, "load", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        predict.load(tf, "folder")
