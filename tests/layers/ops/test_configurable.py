"""Configs contain the arguments, and quantized or frozen inner layers are restored."""

import warnings

import keras
import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps._src.layers.ops.configurable import inner_layers
from tfreps._src.layers.transformer import activation_function
from tfreps._src.runs.bert_parts import freeze_layers
from tfreps.layers import CRF, CharCNNEncoder, TransformerBlock
from tfreps.models import BertEncoder, Classifier, Tagger

IDS = np.array([[2, 5, 6, 3], [2, 7, 3, 0]])


@keras.saving.register_keras_serializable(package="tests")
def doubled(x):
    return 2.0 * x


@keras.saving.register_keras_serializable(package="tests")
class Counting(keras.initializers.Initializer):
    def __init__(self, first):
        self.first = first

    def __call__(self, shape, dtype=None):
        return keras.ops.reshape(keras.ops.arange(np.prod(shape), dtype=dtype), shape) + self.first

    def get_config(self):
        return {"first": self.first}


def make(**options):
    sizes = {"vocabulary_size": 20, "hidden_dim": 8, "num_layers": 2, "num_heads": 2}
    return BertEncoder(**sizes, max_sequence_length=8, **options)


def modes(model):
    return [getattr(part, "quantization_mode", None) for _, part in inner_layers(model)]


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
    """The optimizer state also loads, and training the loaded model keeps frozen weights."""
    model = Classifier(make(pooler=False), ["bad", "good"], pooling="first")
    if whole:
        model.encoder.trainable = False
    else:
        freeze_layers(model.encoder, 1)
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


@pytest.mark.few(2)
@pytest.mark.parametrize("activation", ["selu", "gelu_tanh", keras.activations.tanh, doubled])
def test_activations_are_those_of_keras(activation):
    """Tests names and functions, in blocks and convolutions, before and after a config."""
    x = np.random.default_rng(0).normal(size=[2, 3, 4]).astype("float32")
    block = TransformerBlock(num_heads=2, activation=activation)
    block(x)
    inner = block.attention_norm(x + block.attention(x))
    function = activation_function(activation)
    expected = block.feed_forward_norm(inner + block.contract(function(block.expand(inner))))
    assert_close(block(x), expected)
    again = TransformerBlock.from_config(block.get_config())
    assert again.activation == activation and again.get_config() == block.get_config()
    assert again.activate is block.activate
    assert make(activation=activation, pooler=False).blocks[1].activate is function
    if activation != "gelu_tanh":  # the CNN does not accept this tfreps name
        cnn = CharCNNEncoder([[1, 2]], 2, activation=activation, character_dim=2, num_highways=0)
        encoder = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(cnn))
        assert encoder.activate is function and encoder.activation == activation


def test_initializers_are_those_of_keras():
    five = keras.initializers.Constant(5.0)
    bert = make(embeddings_initializer=five)
    for table in (bert.token_embedding.embeddings, bert.segment_embedding.table):
        np.testing.assert_array_equal(table, np.full(table.shape, 5.0))
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(bert))
    assert isinstance(again.embeddings_initializer, keras.initializers.Constant)
    assert again.get_config() == bert.get_config()
    assert (make(embeddings_initializer="ones").add_positions.table.numpy() == 1.0).all()
    crf = CRF(2, transition_initializer=Counting(first=3.0), start_initializer="ones")
    assert CRF.from_config(crf.get_config()).transition_initializer.first == 3.0
    crf(np.zeros([1, 2, 2], "float32"))
    np.testing.assert_array_equal(crf.transitions, [[3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize(
    "make_layer",
    [
        lambda: TransformerBlock(num_heads=2, activation="swoosh"),
        lambda: CharCNNEncoder([[1, 2]], 2, activation="swoosh"),
        lambda: make(embeddings_initializer="swoosh"),
    ],
)
def test_what_keras_does_not_know(make_layer):
    with pytest.raises(ValueError, match="swoosh"):
        make_layer()


def test_a_name_that_is_not_there():
    config = make().get_config()
    with pytest.raises(ValueError, match="must contain paths of its inner layers; got 'blocks/7'"):
        BertEncoder.from_config({**config, "frozen": ["blocks/7"]})


def test_what_options_freeze_is_not_in_the_config():
    """The same config with other options can therefore train these layers."""
    tagger = Tagger(make(), ["a", "b"], use_crf=False)
    config = tagger.get_config()
    assert "frozen" not in config and tagger.crf.trainable_weights == []
    assert len(Tagger.from_config({**config, "use_crf": True}).crf.trainable_weights) == 3
    tagger.drop.trainable = False
    assert tagger.get_config()["frozen"] == ["drop"]


def test_an_argument_of_a_class_of_ones_own():
    class Mine(Classifier):
        def __init__(self, encoder, labels, margin=0.5, **kwargs):
            super().__init__(encoder, labels, **kwargs)
            self.margin = margin

    config = Mine(make(), ["a", "b"], margin=0.2, pooling="max").get_config()
    assert config["margin"] == 0.2 and config["pooling"] == "max"
    again = Mine.from_config(config)
    assert again.margin == 0.2 and again.pooling == "max" and again.encoder.hidden_dim == 8


def test_what_is_not_quantized_has_an_ordinary_config():
    config = make().get_config()
    assert "quantized" not in config and "frozen" not in config
    assert modes(BertEncoder.from_config(config)).count("int8") == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method:UserWarning")
def test_adapters_are_merged_when_a_quantized_model_is_saved(tmp_path):
    model = make(pooler=False)
    model.quantize("int8")
    model.blocks[0].expand.enable_lora(2)
    kernel = model.blocks[0].expand.lora_kernel_b
    kernel.assign(0.1 * np.random.default_rng(0).normal(size=kernel.shape))
    adapted = model(IDS)["sequence_output"].numpy()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    # An int8 step is 1/127 of the largest weight of its column, and the sum is rounded again.
    assert_close(loaded(IDS)["sequence_output"], adapted, terms=1, unit=1 / 127)
