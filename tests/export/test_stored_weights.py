"""Weights in fewer bits: the export and the model use the same rounded weights."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import BFLOAT16, assert_close
from tests.exported_models import MAKERS
from tfreps._src.export import stored_weights
from tfreps._src.export.stored_weights import StoredWeights
from tfreps.export import open_for_export, weight_changes
from tfreps.inference import TextBiLM
from tfreps.models import BiLM

SPEC = tf.TensorSpec([None, 64], tf.float32, "x")


def make():
    model = keras.Sequential([keras.Input([64]), keras.layers.Dense(64), keras.layers.Dense(3)])
    model.layers[0].bias.assign(np.linspace(-1, 1, 64))
    return model


@pytest.mark.parametrize("kind, least", [("float32", 0.0), ("bfloat16", 1e-4), ("int8", 1e-4)])
def test_what_is_stored(tmp_path, kind, least):
    model, x = make(), np.random.default_rng(0).normal(size=[2, 64]).astype("float32")
    kernels = [np.asarray(layer.kernel) for layer in model.layers]
    before = model(x).numpy()
    weights = StoredWeights([model])
    weights.store(kind)
    after = model(x).numpy()
    assert least <= np.abs(after - before).max() < 0.1
    function = weights.trace(lambda x: {"y": model(x)}, SPEC)
    module = tf.Module()
    module.weights = weights.tracked([function])
    tf.saved_model.save(module, str(tmp_path / "1"), {"default": function})
    answer = tf.saved_model.load(str(tmp_path / "1")).signatures["default"](x=tf.constant(x))
    assert_close(answer["y"], after)
    kinds = {v.dtype.name for v in module.weights if hasattr(v, "dtype")}
    kinds |= {v.values.dtype.name for v in module.weights if isinstance(v, tf.Module)}
    assert kinds == ({"float32"} if kind == "float32" else {"float32", kind})
    # A 64 x 64 kernel is stored in fewer bits; a 64 x 3 kernel is too small.
    first, last = (np.asarray(layer.kernel) for layer in model.layers)
    np.testing.assert_array_equal(last, kernels[1])
    if kind == "bfloat16":
        np.testing.assert_array_equal(first, tf.cast(tf.cast(kernels[0], kind), "float32"))
    if kind == "int8":
        steps = np.abs(kernels[0]).max(0) / 127
        assert (np.abs(first - kernels[0]) <= steps / 2 + 1e-6).all()


def test_a_table_has_a_scale_for_each_row():
    embedding = keras.layers.Embedding(300, 4)
    embedding.build(None)
    table = np.random.default_rng(0).normal(size=[300, 4]).astype("float32")
    table[7] *= 1000
    table[8] = 0
    embedding.embeddings.assign(table)
    StoredWeights([embedding]).store("int8")
    steps = np.abs(table).max(1, keepdims=True) / 127
    assert (np.abs(np.asarray(embedding.embeddings) - table) <= steps / 2 + 1e-5).all()


def test_other_inputs_go_by_name():
    weights = StoredWeights([make()])
    other = tf.TensorSpec([], tf.float32, "other")
    double = weights.trace(lambda given, other: {"y": given * other}, SPEC, other=other)
    assert double(x=tf.ones([1, 64]), other=tf.constant(3.0))["y"].numpy()[0, 0] == 3.0


def test_a_shared_function_is_traced_once():
    calls, dense = [], make()
    weights = StoredWeights([dense])
    shared = weights.shared(lambda x: calls.append(1) or {"y": dense(x)})
    x = tf.random.stateless_normal([2, 64], [1, 2])
    one = weights.trace(shared, SPEC)(x=x)["y"]
    two = weights.trace(lambda x: {"z": shared(x)["y"]}, SPEC)(x=x)["z"]
    assert len(calls) == 1
    np.testing.assert_array_equal(one, two)
    weights.store("int8")  # from now on, every trace reads its own copy
    three, four = (weights.trace(shared, SPEC)(x=x)["y"] for _ in range(2))
    assert len(calls) == 3 and np.any(three != one)
    np.testing.assert_array_equal(three, four)


def make_half():
    half = keras.Sequential(
        [keras.Input([64]), keras.layers.Dense(64, dtype="mixed_bfloat16", activation="tanh")]
    )
    half.layers[0].bias.assign(np.linspace(-1, 1, 64))
    return half


@pytest.mark.parametrize("most, stored", [(2**30, 1), (2**14, 0)])
def test_models_in_16_bits_have_constants_up_to_a_size(tmp_path, monkeypatch, most, stored):
    monkeypatch.setattr(stored_weights, "MOST_CONSTANTS", most)
    model = make_half()
    weights = StoredWeights([model])
    shared = weights.shared(lambda x: {"y": tf.cast(model(x), tf.float32)})
    functions = {
        "default": weights.trace(shared, SPEC),
        "twice": weights.trace(lambda x: {"y": 2.0 * shared(x)["y"]}, SPEC),
    }
    module = tf.Module()
    module.weights = weights.tracked([*functions.values()])
    assert len(module.weights) == 2 * (1 - stored)  # kernel and bias
    tf.saved_model.save(module, str(tmp_path / "1"), functions)
    kernel = np.asarray(model.layers[0].kernel).tobytes()
    assert (tmp_path / "1/saved_model.pb").read_bytes().count(kernel) == stored
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    x = tf.random.stateless_normal([2, 64], [1, 2])
    expected = tf.cast(model(x), "float32").numpy()
    assert np.abs(expected).max() > 0.5
    for name, factor in ("default", 1), ("twice", 2):
        found = loaded.signatures[name](x=x)["y"]
        assert_close(found, factor * expected, unit=BFLOAT16)


def test_the_precision_of_a_model():
    assert StoredWeights([make()]).precision == "float32"
    half = keras.Sequential([keras.Input([4]), keras.layers.Dense(4, dtype="mixed_bfloat16")])
    assert StoredWeights([half]).precision == "bfloat16"


def test_refusals():
    with pytest.raises(ValueError, match="one of float32, bfloat16, int8; got 'int4'"):
        StoredWeights([make()]).store("int4")
    model = make()
    model.layers[0].quantize("int8")
    with pytest.raises(ValueError, match="that Keras has already quantized"):
        StoredWeights([model]).store("bfloat16")


@pytest.mark.slow
def test_the_largest_differences():
    signatures = open_for_export(MAKERS["HMMTagger"]())
    assert weight_changes(signatures, "float32") == ""
    signatures = open_for_export(MAKERS["BertEncoder"]())
    found = weight_changes(signatures, "bfloat16")
    start = "Storing the weights as bfloat16 changes these outputs for 7 sentences: "
    assert found.startswith(start)
    changes = re.findall(r"(\w+) by at most (\S+) \(largest value (\S+)\)[,.]", found)
    assert [name for name, *_ in changes] == ["sequence_output", "pooled_output"]
    assert all(0 < float(change) < 0.1 * float(largest) for _, change, largest in changes)


def test_an_export_that_reads_token_ids():
    bilm = BiLM(units=32, projection_dim=32, num_layers=1, vocabulary_size=9)
    signatures = open_for_export(TextBiLM(bilm))
    assert "changes of the outputs were not measured" in weight_changes(signatures, "bfloat16")
    assert signatures.weights.stored
