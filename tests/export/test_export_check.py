"""Checks of exports in separate processes without tfreps."""

import sys

import numpy as np
import pytest

from tests import tiny_bert
from tests.export.tiny_signatures import TinySignatures
from tfreps.export import SENTENCES, check_export, export_check, write_export
from tfreps.export.bert_signatures import BertSignatures
from tfreps.export.export_check import (
    CheckedExport,
    check_signatures,
    compare,
    printed_strings,
)
from tfreps.inference import TextBert


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_export(TinySignatures(), tmp_path_factory.mktemp("toy"))


@pytest.mark.slow
def test_all_three_ways(written):
    expected = {"default": TinySignatures().expected(SENTENCES)}
    found = list(check_export(written.folder, expected))
    assert [each.error for each in found] == [None] * 3
    assert all(each.largest < 1e-6 for each in found)
    lines = [each.line() for each in found]
    assert "a process with only TensorFlow (TensorFlow 2." in lines[0]
    assert lines[1].startswith("  ok      saved_model_cli run")
    assert "the C API of TensorFlow's library (TensorFlow 2." in lines[2]


@pytest.mark.slow
def test_an_export_with_operations_of_tensorflow_text(tmp_path):
    pytest.importorskip("tensorflow_text")
    tokenizer = tiny_bert.pieces("the", "dog", "wrote")
    encoder = tiny_bert.make_encoder(tokenizer)
    made = BertSignatures(TextBert(encoder, tokenizer), core_ops=False)
    folder = write_export(made, tmp_path / "bert").folder
    expected = {"default": made.expected(SENTENCES)}
    found = list(check_export(folder, expected, needs_text=True))
    assert [each.error for each in found] == [None] * 3
    assert all(each.largest < 1e-6 for each in found)
    assert "a process with TensorFlow and TensorFlow Text (TensorFlow 2." in found[0].line()
    for each in check_export(folder, expected):
        # TensorFlow names the first operation that it finds, in no certain order.
        assert "FastWordpieceTokenize" in each.error or "FastBertNormalize" in each.error


@pytest.mark.slow
def test_a_difference_is_found(written, monkeypatch):
    """Uses the fastest of the three processes; all of them share `compare`."""
    only = export_check._ask_script("ask_c_api.py", False)
    monkeypatch.setattr(export_check, "_ask_script", lambda *_: only)
    monkeypatch.setattr(export_check, "ask_cli", lambda _, *job: only(*job))
    expected = {"default": TinySignatures(error=0.01).expected(SENTENCES)}
    (each, *_) = check_export(written.folder, expected)
    message = "the output 'confidences' of the signature 'default' differs from the model's by 0.0"
    assert message in each.error
    assert each.line().startswith("  FAILED  a process with")


def test_an_interpreter_without_tensorflow(written, tmp_path):
    expected = {"default": {}}
    (each, *_) = check_export(written.folder, expected, python=str(tmp_path / "python"))
    assert "No such file" in each.error


def test_compare():
    strings = np.array([["a", "b"]], object)
    expected = {"s": {"x": np.array([1.0, 2.0], "float32"), "y": strings}}
    same = {"s": {"x": [1.0, 2.0002], "y": strings, "z": 1}}
    assert compare(same, expected, 2e-4) == pytest.approx(1e-4, rel=1e-2)
    assert compare({"s": {"x": [1, 2], "y": None}}, expected, 1e-4) == 0
    for x, y, message in [
        ([1.0, 2.1], strings, "'x' of .* 's' differs from the model's by 0.05 after division by 2"),
        ([1.0, np.nan], strings, "differs from the model's by nan"),
        ([1.0], strings, r"must have shape \(2,\); got \(1,\)"),
        ([1.0, 2.0], [["a", "c"]], "'y' of the signature 's' must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            compare({"s": {"x": x, "y": y}}, expected, 1e-4)
    with pytest.raises(ValueError, match="the output 'x' of the signature 's' is missing"):
        compare({"s": {}}, expected, 1e-4)


@pytest.mark.parametrize(
    "array",
    [
        [["a", ""], ["it's", "both \" and '"], ["...", "] ["]],
        [["x" * 50] * 6] * 3,
        ["你好", "\\", "b'"],
        [[["a"], ["b"]], [["c"], ["d"]]],
    ],
)
def test_strings_as_numpy_prints_them(array):
    array = np.array(array, object)
    encoded = np.vectorize(str.encode, otypes=[object])(array)
    np.testing.assert_array_equal(printed_strings(str(encoded)), array)


def test_strings_that_numpy_leaves_out():
    assert printed_strings(str(np.full([2000], b"a", object))) is None
    assert printed_strings(str(np.full([40, 40], b"a", object))) is None


def test_a_check_that_fails_is_an_error(monkeypatch, tmp_path):
    ways = [CheckedExport("one way", 1e-6, None), CheckedExport("another", 0.0, "it fell")]
    given, seen = [], []
    monkeypatch.setattr(export_check, "check_export", lambda *a: given.append(a) or ways)
    signatures = TinySignatures()
    with pytest.raises(ValueError, match="^1 of the checks failed.*: another: it fell$"):
        check_signatures(signatures, signatures.functions(), tmp_path, "python", seen.append)
    assert seen == ways
    folder, expected, python, precision, needs_text = given[0]
    assert (folder, python, precision, needs_text) == (tmp_path, "python", "float32", False)
    assert list(expected) == ["default", "explain"] and "attention" in expected["explain"]
    ways.pop()
    check_signatures(signatures, signatures.functions(), tmp_path)
    ids = TinySignatures(reads_text=False)
    with pytest.raises(ValueError, match="this export reads only token ids"):
        check_signatures(ids, ids.functions(), tmp_path)


def test_this_interpreter_is_the_default():
    assert check_export.__defaults__[0] == sys.executable
