"""Tests that the comparison finds differences, without PyTorch."""

import json
import pathlib

import numpy as np
import pytest

from benchmarks import bert_parity
from benchmarks.bert_cases import (
    all_cases,
    config_of,
    expected_name,
    folder_name,
    write,
)

KINDS = "BertForMaskedLM", bert_parity.NEXT


@pytest.fixture
def peer(monkeypatch):
    """Replaces transformers: writes checkpoints in its layout, with outputs of tfreps."""

    def run(python, function, folder):
        folder = pathlib.Path(folder)
        if function == "bert_cases.make":
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
    monkeypatch.setattr(bert_parity, "call_peer", run)
    monkeypatch.setattr(bert_parity, "aespresso", lambda folder: [0.0])
    monkeypatch.setattr(bert_parity, "raw_texts", lambda folder: [0.0])


@pytest.mark.slow
def test_a_table_of_differences(peer, monkeypatch, capsys):
    """One difference that is too large is enough for an exit code of 1."""
    assert bert_parity.main(["--peer-python", "none"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3:] == [
        "| BertForMaskedLM gelu, in | 2 | 0.0e+00 |",
        "| BertForNextSentencePrediction gelu, in | 2 | 0.0e+00 |",
        "| aespresso, in | 1 | 0.0e+00 |",
        "| BertForTokenClassification, words of raw texts | 1 | 0.0e+00 |",
        "| BertForMaskedLM gelu, out | 2 | 0.0e+00 |",
        "| BertForMaskedLM gelu, preset | 2 | 0.0e+00 |",
    ]
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
