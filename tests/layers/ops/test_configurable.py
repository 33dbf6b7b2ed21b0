"""A config has the arguments; only a part, or a part of a part, comes back quantised or frozen."""

import warnings

import keras
import numpy as np
import pytest

from tfreps.layers import TransformerBlock
from tfreps.models import BertEncoder, Classifier
from tfreps.runs.bert_loading import freeze_blocks

IDS = np.array([[2, 5, 6, 3], [2, 7, 3, 0]])


def make(**options):
    sizes = {"vocabulary_size": 20, "hidden_dim": 8, "num_layers": 2, "num_heads": 2}
    return BertEncoder(**sizes, max_positions=8, **options)


def modes(model):
    return [getattr(part, "quantization_mode", None) for part in model._flatten_layers()]


def test_some_parts_of_a_nested_model(tmp_path):
    model = Classifier(make(), ["bad", "good"])
    for block in model.encoder.blocks:
        block.expand.quantize("int8")
    before = model({"token_ids": IDS})["logits"].numpy()
    assert modes(model).count("int8") == 2
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert modes(loaded) == modes(model)
    np.testing.assert_array_equal(loaded({"token_ids": IDS})["logits"], before)


def test_a_layer_that_is_built_later():
    block = TransformerBlock(num_heads=2)
    block.build((None, None, 4))
    block.contract.quantize("int8")
    again = TransformerBlock.from_config(block.get_config())
    assert not again.built
    again.build_from_config(block.get_build_config())
    assert modes(again) == modes(block) and modes(block).count("int8") == 1
    assert again.contract.kernel.dtype == "int8" and again.get_config() == block.get_config()


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_is_frozen_stays_so(tmp_path, whole):
    """The optimiser's state fits too, and a loaded model leaves frozen weights alone."""
    model = Classifier(make(pooler=False), ["bad", "good"], pooling="first")
    if whole:
        model.encoder.trainable = False
    else:
        freeze_blocks(model.encoder, 1)
    model.compile("adam")
    model.fit({"token_ids": IDS}, np.array([0, 1]), verbose=0)
    model.save(tmp_path / "model.keras")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
    paths = [weight.path.split("/", 1)[1] for weight in model.trainable_weights]
    assert [weight.path.split("/", 1)[1] for weight in loaded.trainable_weights] == paths
    assert len(paths) == (2 if whole else 14) and not any("block_0" in path for path in paths)
    before = [weight.numpy() for weight in loaded.encoder.weights]
    loaded.fit({"token_ids": IDS}, np.array([0, 1]), verbose=0)
    for weight, old in zip(loaded.encoder.weights, before, strict=True):
        assert (weight.numpy() != old).any() == any(weight is w for w in loaded.trainable_weights)


def test_what_is_not_quantised_has_an_ordinary_config():
    config = make().get_config()
    assert "quantized" not in config and "frozen" not in config
    assert modes(BertEncoder.from_config(config)).count("int8") == 0


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method:UserWarning")
def test_adapters_are_merged_when_a_quantised_model_is_saved(tmp_path):
    model = make(pooler=False)
    model.quantize("int8")
    model.blocks[0].expand.enable_lora(2)
    kernel = model.blocks[0].expand.lora_kernel_b
    kernel.assign(0.1 * np.random.default_rng(0).normal(size=kernel.shape))
    adapted = model(IDS)["sequence_output"].numpy()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    # A step of int8 is 1/127 of the largest weight of its column: the sum is rounded anew.
    np.testing.assert_allclose(loaded(IDS)["sequence_output"], adapted, atol=0.05)
