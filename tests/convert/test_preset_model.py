import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file

import tfreps
from tests.catalogue import CATALOGUE
from tests.closeness import assert_close
from tests.conftest import CHECKOUT
from tfreps._src.convert.preset_model import is_hugging_face, read_preset_model, write_preset_model
from tfreps.models import BertEncoder, BertPretrainer, BiLSTMEncoder, TokenEmbedder

MODELS = [name for name, entry in CATALOGUE.items() if issubclass(entry.cls, keras.Model)]
QUICK = ["BertPretrainer", "LinearEncoder"]  # files of Hugging Face, files of tfreps
# Calls the model of each folder on the inputs of its entry and compares all outputs. The weights
# are equal to the last digit; matrix multiplications may use another number of threads.
READ = """
import json, sys
import numpy as np, tensorflow as tf
import tfreps
from tests.catalogue import CATALOGUE
from tests.closeness import assert_close
for folder, name in json.loads(sys.argv[1]).items():
    entry, stored = CATALOGUE[name], np.load(folder + ".npz")
    found = tf.nest.flatten(entry.call(tfreps.load(folder).model, entry.arrays()))
    assert len(found) == len(stored.files), folder
    for ours, theirs in zip(found, stored.values()):
        assert_close(ours, theirs, name=name)
print("equal")
"""


def saved(name, folder):
    """Saves a model of the catalogue with other than initial weights; returns it."""
    entry = CATALOGUE[name]
    model = entry.make()
    random = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(random.normal(size=weight.shape, scale=0.3))
    model.save_to_preset(folder)
    return model


@pytest.mark.parametrize("name", QUICK)
def test_a_model_is_equal_when_it_is_loaded(tmp_path, name):
    entry, model = CATALOGUE[name], saved(name, tmp_path)
    expected = tf.nest.flatten(entry.call(model, entry.arrays()))
    found = tf.nest.flatten(entry.call(tfreps.load(tmp_path).model, entry.arrays()))
    for ours, theirs in zip(found, expected, strict=True):
        assert_close(ours, theirs, name=name)


@pytest.mark.slow
def test_every_model_is_equal_in_a_fresh_process(tmp_path):
    folders = {}
    for number, name in enumerate(MODELS):
        entry, folder = CATALOGUE[name], str(tmp_path / str(number))
        model = saved(name, folder)
        outputs = tf.nest.flatten(entry.call(model, entry.arrays()))
        np.savez(folder + ".npz", *map(np.asarray, outputs))
        folders[folder] = name
    done = subprocess.run(
        [sys.executable, "-c", READ, json.dumps(folders)],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
    )
    assert done.stdout.strip() == "equal", done.stderr[-2000:]


def bert(**options):
    sizes = {"vocabulary_size": 9, "hidden_dim": 8, "num_layers": 1, "num_heads": 2}
    return BertEncoder(**{**sizes, **options})


def test_names_of_transformers_where_it_has_the_model(tmp_path):
    write_preset_model(bert(), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["model_type"] == "bert" and config["architectures"] == ["BertModel"]
    assert "encoder.layer.0.attention.self.query.weight" in load_file(
        tmp_path / "model.safetensors"
    )
    again = BertEncoder.from_pretrained(tmp_path)
    for ours, theirs in zip(again.weights, read_preset_model(tmp_path).weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("next_label", [0, 1])
def test_the_order_of_the_next_sentence_labels(tmp_path, next_label):
    model = BertPretrainer(bert())
    model.next_sentence_dense.kernel.assign(np.arange(16.0).reshape(8, 2))
    write_preset_model(model, tmp_path, next_label)
    stored = load_file(tmp_path / "model.safetensors")["cls.seq_relationship.weight"]
    np.testing.assert_array_equal(stored[0], np.arange(16.0).reshape(8, 2)[:, next_label])
    again = read_preset_model(tmp_path)
    np.testing.assert_array_equal(
        again.next_sentence_dense.kernel, model.next_sentence_dense.kernel
    )


def test_computed_positions_stay_computed(tmp_path):
    model = bert(positions="sinusoidal", max_sequence_length=16)
    assert is_hugging_face(model)
    write_preset_model(model, tmp_path)
    again = read_preset_model(tmp_path)
    assert again.positions == "sinusoidal" and len(again.weights) == len(model.weights)


def test_bfloat16_weights(tmp_path):
    model = TokenEmbedder(vocabulary_size=9, dtype="bfloat16")
    write_preset_model(model, tmp_path)
    again = read_preset_model(tmp_path)
    assert again.weights[0].dtype == "bfloat16"
    np.testing.assert_array_equal(*(np.asarray(m.weights[0], "float32") for m in (model, again)))


@pytest.fixture
def folder(tmp_path):
    write_preset_model(TokenEmbedder(vocabulary_size=9, embedding_dim=4), tmp_path)
    return tmp_path


def change(folder, *path, value):
    """Replaces a value inside config.json."""
    config = json.loads((folder / "config.json").read_text())
    inner = config
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (folder / "config.json").write_text(json.dumps(config))


def test_a_size_that_the_weights_cannot_have(folder):
    """The error comes before any memory is taken."""
    change(folder, "tfreps", "model", "config", "vocabulary_size", value=10**12)
    with pytest.raises(ValueError, match="`vocabulary_size` must be at most .*; got 1000000000000"):
        read_preset_model(folder)


def test_a_size_of_another_model(folder):
    change(folder, "tfreps", "model", "config", "vocabulary_size", value=10)
    with pytest.raises(ValueError, match=r"expected \(11, 4\), got \(10, 4\)"):
        read_preset_model(folder)


@pytest.mark.parametrize(
    "module, name", [("os", "system"), ("builtins", "eval"), ("keras.layers", "Lambda")]
)
def test_code_is_not_run(folder, module, name, capfd):
    code = {"module": module, "class_name": name, "config": {"function": "echo run"}}
    change(folder, "tfreps", "model", value={**code, "registered_name": None})
    with pytest.raises(ValueError, match="does not describe a model|must describe a"):
        read_preset_model(folder)
    assert "run" not in capfd.readouterr().out


@pytest.mark.parametrize(
    "config, message",
    [
        ("{", "not a JSON file"),
        ("{}", "was not written by `save_to_preset`"),
        ('{"tfreps": {"model": []}}', "was not written by `save_to_preset`"),
        ('{"tfreps": {"model": {}}}', "must describe a Keras model .*; got a dict"),
    ],
)
def test_damaged_configs(folder, config, message):
    (folder / "config.json").write_text(config)
    with pytest.raises(ValueError, match=message):
        read_preset_model(folder)


def test_damaged_weights(folder):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match="the file cannot be read"):
        read_preset_model(folder)
    save_file({"another": np.zeros(3, "float32")}, path)
    with pytest.raises(ValueError, match="missing: token_embedder.*not used: another|missing: "):
        read_preset_model(folder)
    path.unlink()
    with pytest.raises(ValueError, match="expected one of model.safetensors"):
        read_preset_model(folder)


def test_models_that_cannot_be_stored(tmp_path):
    embedder = TokenEmbedder(vocabulary_size=9, embedding_dim=4)
    model = BiLSTMEncoder(embedder, units=4)
    model._tracker.unlock()
    twin = TokenEmbedder(vocabulary_size=9, embedding_dim=4, name=embedder.name)
    model.twin = twin
    with pytest.raises(ValueError, match="Two weights have the path"):
        write_preset_model(model, tmp_path)
