"""Tests that the comparison finds differences, without PyTorch, and what its sentences contain."""

import pathlib
import shutil

import numpy as np
import pytest

import tfreps
from benchmarks import many_langs_cases, many_langs_parity, runner
from benchmarks.many_langs_cases import CASES, REFUSED
from tests.convert.many_langs_fixture import FOLDER, SENTENCES
from tfreps._src.convert.many_langs_files import read_characters, read_config, read_words


@pytest.fixture
def added(monkeypatch):
    """Replaces the original by tfreps; returns the dict of what is added to its vectors."""
    offsets = {"alone": 0.0, "batches": 0.0, "carried": 0.5}

    def write(name, folder):
        shutil.copytree(FOLDER / "words", folder)
        if name == "plain":
            path = folder / "configs/cnn.json"
            path.write_text(path.read_text("utf-8").replace('"elmo"', '"lstm"'), "utf-8")

    def call_peer(python, function, folder):
        if function == "many_langs.vectors":
            folder = pathlib.Path(folder)
            found = np.concatenate(tfreps.load(folder).encode(SENTENCES), axis=1)
            np.savez(folder / "vectors.npz", **{name: found + x for name, x in offsets.items()})

    monkeypatch.setattr(many_langs_parity, "CASES", ["words", "plain"])
    monkeypatch.setattr(many_langs_parity, "REFUSED", {"plain": "encoder.name"})
    monkeypatch.setattr(many_langs_parity, "write_case", write)
    monkeypatch.setattr(many_langs_parity, "make_sentences", lambda: SENTENCES)
    monkeypatch.setattr(many_langs_parity, "call_peer", call_peer)
    return offsets


@pytest.mark.slow
def test_a_table_of_differences(added, capsys):
    """One difference that is too large is enough for an exit code of 1."""
    assert many_langs_parity.main(["--peer-python", "none"]) == 0
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    name, _, _, together, _, carried = lines[3]
    assert (name, together) == ("words", "0.0e+00, 0.0e+00, 0.0e+00")
    assert carried == "0.5, 0.5, 0.5"
    assert lines[-1][0] == "plain" and "`encoder.name` must be" in lines[-1][1]
    added["alone"] = 2e-5
    assert many_langs_parity.main(["--peer-python", "none", "--only", "words"]) == 1


def test_a_model_that_tfreps_reads_by_mistake(added, monkeypatch, tmp_path):
    monkeypatch.setitem(many_langs_parity.REFUSED, "words", "encoder.name")
    with pytest.raises(SystemExit, match="error that names encoder.name; it was loaded"):
        many_langs_parity.refusal("words", tmp_path, "none")


@pytest.mark.slow
def test_speed(added, monkeypatch, tmp_path):
    many_langs_parity.write_case("words", tmp_path / "model")

    def alternately(calls, repeats, pythons):
        call, peer = calls.values()
        assert [vectors.shape for vectors in call()][0] == (3, 20, 8)
        assert (peer.file, peer.arguments[0]) == ("many_langs", str(tmp_path / "model"))
        return {"tfreps": [1.0, 2.0, 3.0], "original": [3.0] * repeats}

    monkeypatch.setattr(runner, "alternately", alternately)
    run = runner.Run(3, {"peer_python": "none"})
    row = many_langs_parity.speed(tmp_path / "model", (32, 20), run)
    assert row["sentences x tokens"] == "32 x 20" and row["tokens/s"] == 320
    assert row[runner.OTHERS] == {"original": (32 * 20 / 3, 1.5)}


def test_values_that_are_not_finite_differ():
    ours = np.array([[[1.0, 2.0]], [[np.nan, 2.0]], [[np.inf, 2.0]]])
    gaps = many_langs_parity.difference(ours, np.array([[[1.0, 2.5]]] * 3))
    assert gaps.tolist() == [0.5, np.inf, np.inf]


def test_sentences():
    sentences = many_langs_cases.make_sentences()
    assert sentences == many_langs_cases.make_sentences() and len(sentences) == 200
    lengths = [len(sentence) for sentence in sentences]
    assert min(lengths) == 0 and max(lengths) > 20
    found = {token for sentence in sentences for token in sentence}
    assert {*many_langs_cases.ODD} <= found
    for words in many_langs_cases.WORDS.values():
        assert len({*words.split()} & found) > 5
    characters = {*many_langs_cases.dictionary_characters()}
    words = {*many_langs_cases.dictionary_words()}
    assert 3000 < len(characters) < 6000 and len(words) == 20000
    ordinary = found - {*many_langs_cases.ODD}
    unknown = [word for word in ordinary if not {*word} <= characters]
    assert 0.02 < len(unknown) / len(ordinary) < 0.6
    assert 0.1 < len(ordinary - words) / len(ordinary) < 0.7


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED])
def test_files_of_a_case(name, tmp_path):
    many_langs_cases.write_case(name, tmp_path / name)
    options = read_config(tmp_path / name)
    if options["character_dim"]:
        assert len(read_characters(tmp_path / name).tokens) > 3000
    if options["word_dim"]:
        assert read_words(tmp_path / name).size == 20000


def test_batches_of_text():
    batches = many_langs_cases.texts(3, 4)
    assert [len(batch) for batch in batches] == [3] * 8
    assert {len(sentence) for batch in batches for sentence in batch} == {4}
    assert batches[0] != batches[1]
