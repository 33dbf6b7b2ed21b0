"""Checks of exports in a separate process without tfreps."""

import numpy as np
import pytest

from tests import tiny_bert
from tests.export.tiny_signatures import TinySignatures
from tfreps._src.export.bert_signatures import BertSignatures
from tfreps._src.export.export_check import compare
from tfreps.export import check_export, write_export
from tfreps.inference import TextBert


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_export(TinySignatures(), tmp_path_factory.mktemp("toy"))


@pytest.mark.slow
def test_a_new_process_returns_the_outputs_of_the_model(written):
    assert check_export(TinySignatures(), written.functions, written.folder) < 1e-6
    message = (
        "failed its check .*: the output 'confidences' of the signature 'default' differs from the "
        "output of the original model for the text '.*Otherwise, report this as a bug"
    )
    with pytest.raises(ValueError, match=message):
        check_export(TinySignatures(error=0.01), written.functions, written.folder)


@pytest.mark.slow
def test_an_export_with_operations_of_tensorflow_text(tmp_path):
    pytest.importorskip("tensorflow_text")
    tokenizer = tiny_bert.pieces("the", "dog", "wrote")
    encoder = tiny_bert.make_encoder(tokenizer)
    made = BertSignatures(TextBert(encoder, tokenizer), core_ops=False)
    assert write_export(made, tmp_path / "bert", check=True).difference < 1e-6


def test_what_fails_its_check_does_not_appear(tmp_path):
    python = tmp_path / "python"
    for signatures, message in [
        (TinySignatures(), f"failed its check by {python}, .*: .*No such file"),
        (TinySignatures(reads_text=False), "this export reads only token ids"),
    ]:
        with pytest.raises(ValueError, match=message):
            write_export(signatures, tmp_path / "toy", check=python)
        assert not list((tmp_path / "toy").iterdir())


def test_compare():
    texts = ["a b", "a ä"]
    expected = {
        "s": {
            "x": np.array([[1.0, 0.0], [1.0, 2.0]], "float32"),
            "y": np.array([["a", ""], ["a", "ä"]], object),
        }
    }
    same = np.char.encode([["a", ""], ["a", "ä"]], "utf-8")
    found = {"s/x": np.array([[1.0, 0.0], [1.0, 2.0002]]), "s/y": same, "s/z": np.ones(1)}
    assert compare(found, expected, 2e-4, texts) == pytest.approx(1e-4, rel=1e-2)
    differs = "of the signature 's' differs from the output of the original model for the text"
    for x, y, message in [
        (
            [[1.0, 0.0], [1.0, 2.1]],
            same,
            f"the output 'x' {differs} 'a ä': 2.1 instead of 2, which is more than 0.0002 apart.",
        ),
        (
            [[1.0, np.nan], [1.0, 2.0]],
            same,
            f"the output 'x' {differs} 'a b': nan instead of 0, which is more than 0.0002 apart.",
        ),
        (
            [[1.0], [1.0]],
            same,
            f"the output 'x' {differs} 'a ä': its shape is (2, 1) instead of (2, 2).",
        ),
        (
            [[1.0, 0.0], [1.0, 2.0]],
            np.array([[b"a", b""], [b"a", b"c"]]),
            f"the output 'y' {differs} 'a ä': 1 strings differ, the first is 'c' instead of 'ä'.",
        ),
        (
            [[1.0, 0.0], [1.0, 2.0]],
            np.array([[b"a", b"", b""], [b"a", b"", b"b"]]),
            f"the output 'y' {differs} 'a ä': its shape is (2, 3) instead of (2, 2).",
        ),
    ]:
        with pytest.raises(ValueError) as caught:
            compare({"s/x": np.array(x), "s/y": y}, expected, 1e-4, texts)
        assert str(caught.value) == message
    with pytest.raises(ValueError, match="the output 'x' of the signature 's' is missing"):
        compare({}, expected, 1e-4, texts)
