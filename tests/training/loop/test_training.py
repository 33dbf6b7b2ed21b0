"""Tests the options of training: precision, seed and counts of the data."""

import keras
import numpy as np
import tensorflow as tf

from tests.line_model import make_model, options
from tests.training.loop.test_epoch_loop import Batches
from tfreps.runs import RunFolder
from tfreps.training.loop import training


class Counted(Batches):
    num_sentences = 10

    def num_batches(self, epoch=0):
        return super().num_batches(epoch)


def test_fit_records_what_was_trained(tmp_path, capsys):
    def fit_one(batches, validation=None, **given):
        model = make_model()
        model.compile("sgd", "mse", metrics=["mae"])
        compiled, model.compile = [], lambda *a, **k: compiled.append((a, k))
        result = training.fit(model, batches, validation, run, "val_mae", options(**given))
        assert compiled[0][1] == {"jit_compile": False}
        return result

    run = RunFolder.create(tmp_path / "run", "train-tagger", {})
    assert fit_one(Counted(), epochs=1)["steps"] == 5
    assert capsys.readouterr().out.startswith("There is no validation data: the last weights are")
    expected = {"sentences": 10, "tokens": 40, "parameters": 3}
    assert run.results() == {"training": expected}
    assert fit_one(Counted(), Counted(), epochs=2, resume=True)["steps"] == 9
    assert "There is no validation data" not in capsys.readouterr().out
    assert run.results() == {"training": expected}


def prepare(**given):
    given = {"precision": "float32", **given}
    training.set_precision_and_seed(options(**given), None, "bilstm", 32, width=200)


def test_preparing_sets_precision_and_seed(capsys, monkeypatch):
    prepare(precision="bfloat16", seed=3)
    assert keras.config.dtype_policy().name == "mixed_bfloat16"
    first = np.random.rand()
    prepare(seed=3)
    assert keras.config.dtype_policy().name == "float32" and np.random.rand() == first
    monkeypatch.setattr("tfreps._src.models.precision.bfloat16_instructions", lambda: "AVX512_BF16")
    capsys.readouterr()
    prepare(precision="auto", distribute=None)
    assert keras.config.dtype_policy().name == "mixed_bfloat16"
    assert (
        capsys.readouterr().out == "Precision: bfloat16 (this CPU has AVX512_BF16 instructions).\n"
    )


def test_determinism_is_asked_of_tensorflow(monkeypatch):
    asked = []
    monkeypatch.setattr(tf.config.experimental, "enable_op_determinism", lambda: asked.append(1))
    prepare()
    assert asked == []
    prepare(deterministic=True)
    assert asked == [1]
