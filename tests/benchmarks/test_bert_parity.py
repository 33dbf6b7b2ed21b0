"""Tests that the comparison finds differences, without PyTorch."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from benchmarks import bert_parity
from benchmarks.bert_cases import (
    RAW_CONFIG,
    RAW_OPTIONS,
    RAW_PIECES,
    RAW_TEXTS,
    all_cases,
    array_of,
    config_of,
    expected_name,
    folder_name,
    shapes_of,
    write,
)
from tfreps.models import Tagger
from tfreps.text import checkpoint_tokenizer, tokenize_texts

KINDS = "BertForMaskedLM", bert_parity.NEXT


@pytest.fixture
def peer(monkeypatch):
    """Replaces transformers: writes checkpoints in its layout, with outputs of tfreps."""

    def run(python, task, folder):
        if task == "make":
            (folder / "expected").mkdir(parents=True)
            for case in all_cases():
                write(case, folder / folder_name(case))
                save(folder / "expected" / f"{expected_name(case)}.npz", folder, case)
            return
        for request in folder.glob("*/request.json"):
            name = json.loads(request.read_text())["expected"]
            expected = np.load(folder.parent / "expected" / f"{name}.npz")
            np.savez(request.parent / "outputs.npz", **expected)

    def save(path, folder, case):
        model = bert_parity.READERS[case["kind"]](folder / folder_name(case))
        found = bert_parity.outputs_of(model, config_of(case))
        found |= bert_parity.outputs_of(model.encoder, config_of(case))
        del found["sequence_output"]  # transformers returns it in `layer_outputs`
        np.savez(path, **found)

    cases = [
        case
        for case in all_cases()
        if case["kind"] in KINDS and case["activation"] == "gelu"
        if (case["style"], case["files"], case["prefix"]) == ("late", "single", "bert.")
    ]
    monkeypatch.setattr(bert_parity, "all_cases", lambda: cases)
    monkeypatch.setitem(globals(), "all_cases", lambda: cases)
    monkeypatch.setattr(bert_parity, "peer", run)
    monkeypatch.setattr(bert_parity, "aespresso", lambda folder: [0.0])
    monkeypatch.setattr(bert_parity, "raw_texts", lambda folder: [0.0])


@pytest.mark.slow
def test_a_table_of_differences(peer, capsys):
    assert bert_parity.main(["--peer-python", "none"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [
        "| BertForMaskedLM gelu, in | 2 | 0.0e+00 |",
        "| BertForNextSentencePrediction gelu, in | 2 | 0.0e+00 |",
        "| aespresso, in | 1 | 0.0e+00 |",
        "| BertForTokenClassification, words of raw texts | 1 | 0.0e+00 |",
        "| BertForMaskedLM gelu, out | 2 | 0.0e+00 |",
        "| BertForMaskedLM gelu, preset | 2 | 0.0e+00 |",
    ]


@pytest.mark.slow
def test_one_difference_is_enough_to_fail(peer, monkeypatch, capsys):
    monkeypatch.setattr(bert_parity, "aespresso", lambda folder: [2e-5])
    assert bert_parity.main(["--peer-python", "none"]) == 1


def test_differences_count_at_real_tokens_and_among_blocks_that_are_there():
    layers = np.zeros((3, 4, 12, 2))
    expected = {"layer_outputs": layers, "pooled_output": np.zeros((3, 2))}
    other = layers[:, :2].copy()
    other[2, 0, 5] = 9.0  # padding after the third text, which has one token
    assert bert_parity.difference(expected, {"layer_outputs": other, "pooled_output": None}) == 0
    other[2, 1, 0] = 0.5
    assert bert_parity.difference(expected, {"layer_outputs": other}) == 0.5
    assert bert_parity.difference(expected, {"logits": other}) == float("inf")
    other[0, 1, 0] = np.nan
    assert bert_parity.difference(expected, {"layer_outputs": other}) == float("inf")


def test_fixtures_are_what_the_tests_of_converters_read(tmp_path, monkeypatch):
    cases = [c for c in all_cases() if c["kind"] == "BertForMaskedLM" and c["style"] == "late"]
    monkeypatch.setattr(bert_parity, "all_cases", lambda: cases)
    (tmp_path / "expected").mkdir()
    for case in cases:
        path = tmp_path / "expected" / f"{expected_name(case)}.npz"
        np.savez(path, layer_outputs=np.ones((3, 4, 12, 2)), token_logits=np.ones((3, 12, 5)))
    bert_parity.write_fixtures(tmp_path, tmp_path / "f.json")
    found = json.loads((tmp_path / "f.json").read_text())
    assert sorted(found) == ["gelu-usual", "gelu_new-unusual"]
    shapes = {name: np.shape(value) for name, value in found["gelu-usual"].items()}
    assert shapes == {"layer_outputs": (18, 2, 2), "token_logits": (18, 5)}


@pytest.mark.slow
def test_raw_texts(tmp_path):
    """Compares with the model on pieces: each word has the scores of its first piece."""
    shapes = shapes_of(RAW_CONFIG, "BertForTokenClassification")
    arrays = {name: array_of(name, shape) for name, shape in shapes.items()}
    for name, options in RAW_OPTIONS.items():
        folder = tmp_path / "raw" / name
        folder.mkdir(parents=True)
        save_file(arrays, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(RAW_CONFIG))
        (folder / "tokenizer_config.json").write_text(json.dumps(options))
        (folder / "vocab.txt").write_text("\n".join(RAW_PIECES))
        model, cut, scores = Tagger.from_pretrained(folder), checkpoint_tokenizer(folder), []
        for words in tokenize_texts(RAW_TEXTS, cut):
            pieces = [cut.ids(word) for word in words]
            firsts = np.cumsum([1, *map(len, pieces)])[:-1]
            ids = np.array([cut.pack(sum(pieces, []))[0]])
            scores.append(model({"token_ids": ids})["emissions"].numpy()[0, firsts])
        np.savez(folder / "expected.npz", *scores)
    gaps = bert_parity.raw_texts(tmp_path)
    assert len(gaps) == len(RAW_OPTIONS) * len(RAW_TEXTS) and max(gaps) < 1e-5
    np.savez(folder / "expected.npz", *(score[1:] for score in scores))
    assert max(bert_parity.raw_texts(tmp_path)) == float("inf")
