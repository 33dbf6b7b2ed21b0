"""Runs the examples in docstrings."""

import doctest
import importlib

import pytest

from tests.conftest import CHECKOUT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# These examples build, export or train models; quicker tests cover the same code.
SLOW = {
    f"tfreps._src.{name}"
    for name in (
        "callbacks.best_model",
        "callbacks.checkpoints",
        "callbacks.epoch_log",
        "callbacks.reduce_learning_rate",
        "callbacks.training_log",
        "callbacks.weight_averages",
        "data.lm.lm_batches",
        "data.lm.sentence_batches",
        "data.masked_lm.masked_lm_batches",
        "export.bilm_signatures",
        "export.decoder.decoder_export",
        "export.opening",
        "loading",
        "inference.embedding_methods",
        "inference.sentence_encoder",
        "inference.text_bert",
        "inference.text_bilm",
        "inference.text_classifier",
        "inference.text_embedder",
        "inference.text_many_langs",
        "inference.text_pipe",
        "inference.text_tagger",
        "layers.crf",
        "models.adapter_methods",
        "models.bert",
        "models.bert_pretrainer",
        "models.bilm",
        "models.elmo",
        "models.hmm",
        "models.many_langs",
        "models.tagger",
        "models.transformer_encoder",
        "models.whole_model",
        "plots.matrices",
    )
}

MASKING = {f"tfreps._src.data.masked_lm.{name}" for name in ("masked_lm_batches", "token_masking")}


def modules():
    """Yields the name of each module that has examples, with the marks that they need."""
    for path in sorted((CHECKOUT / "tfreps").rglob("*.py")):
        examples = [line for line in path.read_text("utf-8").splitlines() if ">>>" in line]
        if examples:
            name = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
            marks = [pytest.mark.slow] if name in SLOW else []
            if any("bfloat16" in line for line in examples):
                marks.append(pytest.mark.bfloat16)
            yield pytest.param(name.removesuffix(".__init__"), marks=marks)


@pytest.mark.parametrize("name", list(modules()))
def test_docstring_examples(name, tmp_path, monkeypatch):
    """The examples run in a temporary folder."""
    if name.startswith("tfreps.serving.annotation."):
        pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")
    if name in MASKING:
        pytest.importorskip("tensorflow_text", reason="masked language modeling needs it")
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder().find(module):
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
