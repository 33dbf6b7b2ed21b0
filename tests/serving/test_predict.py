"""Tests `tfreps predict`."""

import io
import json
import shutil
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.exported_models import make_trained
from tests.tiny_run import make_pretrainer
from tfreps.__main__ import main
from tfreps.export import open_for_export, write_export
from tfreps.serving import predict

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


@pytest.mark.few(1)
@pytest.mark.parametrize("signature", ["default", "tokens"])
def test_every_number(exported, capsys, signature):
    folder, bilm = exported
    found = ask(capsys, folder, *SENTENCES, "--full", "--signature", signature)
    plain = [" ".join(sentence.split()) for sentence in SENTENCES]
    layers = bilm(tf.constant(plain))["layer_outputs"].numpy()
    assert [outputs["text"] for outputs in found] == SENTENCES
    assert [outputs["tokens"] for outputs in found] == [6, 0, 2]
    for row, outputs in enumerate(found):
        n = outputs["tokens"]
        assert_close(np.reshape(outputs["lstm_outputs1"], [n, 12]), layers[row, 1, :n])
        mean = layers[row, :, :n].mean(axis=0).sum(axis=0) / max(n, 1)
        assert_close(outputs["default"], mean)
        assert outputs["shapes"]["word_emb"] == [n, 6]


@pytest.mark.slow
def test_a_text_embedder(tmp_path, capsys):
    embedder = make_trained("embedder")
    write_export(open_for_export(embedder), tmp_path)
    [short], [full] = (ask(capsys, str(tmp_path), "Ada lives", *more) for more in ([], ["--full"]))
    assert short["tokens"] == 2 and short["shapes"] == {"vectors": [3]}
    assert_close(full["vectors"], embedder("Ada lives").vectors)
    assert short["vectors"] == full["vectors"]  # fewer than `FIRST` numbers


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
        ([str(tmp_path), "a"], "contains neither a saved_model.pb"),
        ([str(torn), "a"], "cannot be loaded as a SavedModel"),
        ([folder, "a", "--signature", "scores"], ", score; got 'scores'."),
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
            "nul, line 2: expected UTF-8 text, found a NUL",
        ),
    ]:
        assert main(["predict", *arguments]) == 2
        captured = capsys.readouterr()
        assert message in captured.err and len(captured.err.splitlines()) == 1, captured.err
        assert not captured.out
