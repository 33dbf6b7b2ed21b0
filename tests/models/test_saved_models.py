"""Tests that `load_model` opens the models of all programs in a new process."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import CHECKOUT
from tests.line_model import options
from tests.tiny_run import make_pretrainer
from tfreps.models import BertEncoder, BertPretrainer, Classifier, HMMTagger, Tagger, TokenEmbedder
from tfreps.optimizers import FusedAdam, LinearWarmup, TF1Adagrad
from tfreps.training.loop.optimizer import make_optimizer

# Loads each compiled model and prints its contents as one line of JSON.
IMPORTS = {
    "keras first": "import keras, tfreps",
    "tfreps first": """
import tfreps
assert "tensorflow" not in sys.modules and "keras" not in sys.modules
import keras
import tfreps.models
""",
}
LOADED = """
import json, pathlib, re, sys
{imports}

registers = re.compile("^@keras.saving.register_keras_serializable", re.MULTILINE)
files = [path for path in pathlib.Path("tfreps").rglob("*.py")]
files = [path for path in files if registers.search(path.read_text())]
names = {".".join(path.with_suffix("").parts) for path in files}
assert len(names) > 30 and names <= set(sys.modules), names - set(sys.modules)
for path in sys.argv[1:]:
    model = keras.saving.load_model(path)
    optimizer, numbers = getattr(model, "optimizer", None), []
    if optimizer is not None:
        numbers = [float(abs(v.numpy()).sum()) for v in optimizer.variables]
    print(json.dumps([type(model).__name__, type(optimizer).__name__, numbers]))
"""


def bilm(optimizer):
    model = make_pretrainer()
    model.compile(optimizer, jit_compile=False)
    return model


def bert():
    model = BertPretrainer(BertEncoder(12, hidden_dim=8, num_layers=1, num_heads=2))
    optimizer = FusedAdam(LinearWarmup(1e-3, 10, 2), weight_decay=0.01, global_clipnorm=1.0)
    model.compile(optimizer, jit_compile=False)
    return model


def with_head(kind, names, **given):
    """Returns a tagger or a classifier, compiled like those of the commands."""
    model = kind(TokenEmbedder(6, 4), names)
    factor = tf.Variable(0.5, trainable=False)
    model.compile(make_optimizer(options(**given), model, 5, factor), jit_compile=False)
    return model


@pytest.fixture(scope="module")
def models():
    """Returns one model of each kind of run, by name."""
    cosine = keras.optimizers.schedules.CosineDecay(0.1, 10)
    return {
        "pretrain-elmo": bilm(TF1Adagrad(cosine)),
        "pretrain-elmo-adam": bilm(FusedAdam(1e-3)),
        "pretrain-bert": bert(),
        "train-tagger": with_head(Tagger, ["O", "X"], embedding_learning_rate=0.1, average=0.9),
        "train-tagger-bio": with_head(Tagger, ["O", "B-X", "I-X"], decay=0.9),
        "train-classifier": with_head(Classifier, ["a", "b"], warmup_steps=3, schedule="linear"),
        "train-hmm": HMMTagger(6, ["O", "B-X", "I-X"], "bio"),
    }


def numbers(model):
    """Returns sums of the optimizer's variables, which are set so that no two are equal."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return []
    optimizer.build(model.trainable_variables)
    for number, variable in enumerate(optimizer.variables):
        variable.assign(np.full(variable.shape, number + 1))
    return [float(np.abs(v.numpy()).sum()) for v in optimizer.variables]


@pytest.mark.slow
@pytest.mark.parametrize("imports", IMPORTS.values(), ids=IMPORTS)
def test_every_kind_of_run_in_a_fresh_process(imports, models, tmp_path):
    expected, paths = [], []
    for name, model in models.items():
        optimizer = type(getattr(model, "optimizer", None)).__name__
        expected.append([type(model).__name__, optimizer, numbers(model)])
        paths.append(tmp_path / f"{name}.keras")
        model.save(paths[-1])
    process = subprocess.run(
        [sys.executable, "-c", LOADED.replace("{imports}", imports), *map(str, paths)],
        cwd=CHECKOUT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-2000:]
    assert [json.loads(line) for line in process.stdout.splitlines()] == expected
