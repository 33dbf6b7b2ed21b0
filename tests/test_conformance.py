"""Rules for all public layers and models, tested on each entry of the catalogue."""

import functools
import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.catalogue import CATALOGUE
from tests.catalogue_arrays import pad, signature, take
from tests.catalogue_entry import LENGTHS
from tests.closeness import BFLOAT16, assert_close
from tfreps import layers, models
from tfreps._src.layers.ops.configurable import inner_layers
from tfreps._src.layers.ops.portable import portable_graph

every = pytest.mark.parametrize("name", CATALOGUE)
# In expensive checks, further variants of a class (`Name, variant`) are slow tests.
every_class = pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if "," in n else ()) for n in CATALOGUE],
)
# Exports of models also have unknown sizes and portable forms, and are tested with the exports.
every_layer = pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if hasattr(layers, n) else pytest.mark.slow)
        for n in CATALOGUE  # `Name, variant` is not the name of a layer
    ],
)
# The TokenEmbedder of the catalogue contains an Elmo with its BiLM, and others a BertEncoder.
PARTS = {"Elmo", "BiLM", "BertEncoder"}
every_whole = pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n in PARTS or "," in n else ()) for n in CATALOGUE],
)
# Files and exports of models contain the layers, so that those of single layers are slow tests.
every_exported = pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if hasattr(models, n) else pytest.mark.slow)
        for n in CATALOGUE  # `Name, variant` is not the name of a model
    ],
)

QUANTIZED = keras.layers.Dense, keras.layers.EinsumDense, keras.layers.Embedding


def flat(outputs):
    return [np.asarray(output) for output in tf.nest.flatten(outputs)]


@functools.cache
def made(name):
    """Returns a layer and its outputs, for tests that do not change the layer."""
    layer = CATALOGUE[name].make()
    return layer, flat(CATALOGUE[name].call(layer, CATALOGUE[name].arrays()))


def assert_equal_outputs(one, other, **options):
    one, other = flat(one), flat(other)
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert_close(a, b, **options)


def test_the_catalogue_is_complete():
    entries = {entry.cls for entry in CATALOGUE.values()}
    public = {getattr(layers, name) for name in layers.__all__ if name != "LSTMState"}
    assert public | {getattr(models, name) for name in models.__all__ if name != "sizes"} <= entries


@every_layer
def test_the_portable_form(name):
    layer, expected = made(name)
    with portable_graph():
        outputs = CATALOGUE[name].call(layer, CATALOGUE[name].arrays())
    assert_equal_outputs(outputs, expected)


@every_class
def test_arguments_are_attributes_are_the_config(name):
    entry, options = CATALOGUE[name], CATALOGUE[name].options()
    arguments = list(inspect.signature(entry.cls.__init__).parameters)[1:-1]  # self, kwargs
    layers_of = {"fresh": entry.cls(**entry.options()), "after a call": made(name)[0]}
    for moment, layer in layers_of.items():
        config = layer.get_config()
        for argument in arguments:
            assert argument in config, f"{argument} is missing in the config, {moment}"
            if argument in entry.nested:
                continue
            assert getattr(layer, argument) == config[argument]
            if argument in options:
                assert config[argument] == options[argument], f"{argument}, {moment}"


# Sizes that may be 0, and integers that are no sizes or that another option makes effective.
MAY_BE_ZERO = {"num_highways", "num_sentence_nodes", "num_frozen_words", "num_segments"}
MAY_BE_ZERO |= {"num_sampled", "bigram_dim"}
OTHER_INTEGERS = {"seed", "unknown_id", "padding_id", "start_id", "separator_id"}
OTHER_INTEGERS |= {"sentence_start_id", "sentence_end_id", "max_characters", "batch_size"}
OTHER_INTEGERS |= {"character_units", "character_projection_dim"}
# Arguments of the character CNN, in models that have none.
UNUSED = {
    "BiLM, tokens": {"character_dim", "num_highways"},
    "TokenEmbedder, BiLSTM": {"num_highways"},
}


@every_class
def test_sizes_and_dropout_rates_out_of_range(name):
    """The error names the argument."""
    entry, options = CATALOGUE[name], CATALOGUE[name].options()
    for argument, parameter in inspect.signature(entry.cls.__init__).parameters.items():
        if "dropout" in argument:
            value = 1.0
        elif parameter.annotation in (int, int | None) and argument not in OTHER_INTEGERS:
            value = -1 if argument in MAY_BE_ZERO else 0
        else:
            continue
        if argument in UNUSED.get(name, ()):
            continue
        names = "num_sampled" if argument == "vocabulary_size" and "num_sampled" in options else ""
        with pytest.raises(ValueError, match=f"`{names or argument}`"):
            entry.cls(**{**options, argument: value})


@every_class
def test_a_config_comes_back_the_same(name):
    layer, _ = made(name)
    config = layer.get_config()
    copy = type(layer).from_config(config)
    assert copy.get_config() == config == layer.get_config()


def test_all_are_registered_under_tfreps():
    for cls in {entry.cls for entry in CATALOGUE.values()}:
        assert keras.saving.get_registered_name(cls) == f"tfreps>{cls.__name__}"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if hasattr(models, n) and n not in PARTS else pytest.mark.slow)
        for n in CATALOGUE
    ],
)
def test_saves_and_loads(name, tmp_path):
    entry = CATALOGUE[name]
    layer = entry.make()
    randomize(layer)
    if isinstance(layer, keras.Model):
        model, arguments = layer, [*entry.arrays().values()]
    else:
        model, arguments = as_functional(entry, layer), [[*entry.arrays().values()]]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_equal_outputs(loaded(*arguments), model(*arguments), unit=0.0)
    assert_equal_outputs(loaded(*arguments), entry.call(layer, entry.arrays()))


@pytest.mark.slow
@every
def test_saves_and_loads_what_keras_has_quantized(name, tmp_path):
    """The outputs are bit-identical, because int8 kernels and scales are stored unchanged."""
    entry = CATALOGUE[name]
    layer = entry.make()
    parts = [part for _, part in inner_layers(layer) if type(part) in QUANTIZED]
    if not parts:
        pytest.skip("contains no layer that Keras can quantize")
    randomize(layer)
    exact = entry.call(layer, entry.arrays())
    for part in parts:
        part.quantize("int8")
    parts[0].trainable = False
    model, arguments = layer, [*entry.arrays().values()]
    if not isinstance(layer, keras.Model):
        model, arguments = as_functional(entry, layer), [arguments]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_equal_outputs(loaded(*arguments), model(*arguments), unit=0.0)
    assert any((a != b).any() for a, b in zip(flat(exact), flat(model(*arguments)), strict=True))
    assert len(loaded.trainable_weights) == len(model.trainable_weights)


@pytest.mark.slow
@every_class
def test_layers_inside_come_back_quantized_and_frozen_by_name(name):
    """Freezes every second layer with weights, quantizes every fourth that Keras can."""
    entry = CATALOGUE[name]
    layer = entry.make()
    inside = dict(inner_layers(layer))
    assert {*map(id, inside.values())} == {*map(id, layer._flatten_layers(include_self=False))}
    with_weights = [path for path, part in inside.items() if part.weights]
    quantized = [path for path, part in inside.items() if type(part) in QUANTIZED][::4]
    for path in with_weights[::2]:
        inside[path].trainable = False
    for path in quantized:
        inside[path].quantize("int8")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert again.get_config() == layer.get_config()
    copies = dict(inner_layers(again))
    assert [*copies] == [*inside]
    for path, part in inside.items():
        assert copies[path].trainable == part.trainable, path
        assert copies[path].quantization_mode == part.quantization_mode, path
    is_trained = [weight.trainable for weight in layer.weights]
    assert [weight.trainable for weight in again.weights] == is_trained


def as_functional(entry, layer):
    inputs = {
        name: keras.Input(batch_shape=spec.shape, dtype=spec.dtype.name, name=name)
        for name, spec in specs(entry).items()
    }
    return keras.Model([*inputs.values()], tf.nest.flatten(entry.call(layer, inputs)))


def specs(entry):
    return {name: signature(array, axes) for name, (array, axes) in entry.inputs.items()}


def randomize(layer):
    """Sets float weights to values that a new copy would not have."""
    rng = np.random.default_rng(1)
    for weight in layer.weights:
        if "float" in weight.dtype:
            weight.assign(0.3 * rng.normal(size=weight.shape))


def compiled(entry, layer):
    """Returns one graph for any batch size and length, which takes a list of tensors."""
    names = list(entry.inputs)

    @tf.function(input_signature=[*specs(entry).values()])
    def call(*arguments):
        return tf.nest.flatten(entry.call(layer, dict(zip(names, arguments, strict=True))))

    return call


@pytest.mark.slow
@every_exported
def test_exports_as_a_saved_model(name, tmp_path):
    """Exports models with Keras's `export` and serves a batch and a single row."""
    entry = CATALOGUE[name]
    layer = entry.make()
    randomize(layer)
    if isinstance(layer, keras.Model):
        layer.export(tmp_path, verbose=False)
    else:
        module = tf.Module()
        module.layer, module.serve = layer, compiled(entry, layer)
        tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)  # must stay referenced, because it owns its variables
    for arrays in entry.arrays(), one_row(entry, 1):
        served = loaded.serve(*arrays.values())
        is_tagger = hasattr(layer, "tag")
        expected = layer.tag(*arrays.values()) if is_tagger else entry.call(layer, arrays)
        assert_equal_outputs(served, expected)


def one_row(entry, row):
    """Returns the arrays of one row without its padding."""
    length, arrays = max(LENGTHS[row], 1), {}
    for n, (array, axes) in entry.inputs.items():
        array = take(array, axes, "B", slice(row, row + 1))
        arrays[n] = take(array, axes, "T", slice(0, length))
    return arrays


@every_class
def test_compute_output_shape_tells_the_truth(name):
    entry = CATALOGUE[name]
    if entry.cls.compute_output_shape in (
        keras.Model.compute_output_shape,
        keras.layers.Layer.compute_output_shape,
    ):
        pytest.skip("does not define compute_output_shape")
    layer, outputs = made(name)
    shape = layer.compute_output_shape(next(iter(entry.arrays().values())).shape)
    if isinstance(shape[0], int):
        shape = (shape,)
    assert flat_shapes(shape) == [output.shape for output in outputs]


def flat_shapes(shapes):
    if all(isinstance(size, int) for size in shapes):
        return [tuple(shapes)]
    return [shape for part in shapes for shape in flat_shapes(part)]


@pytest.mark.few(2)
@every_layer
def test_unknown_batch_and_length_compile(name):
    entry, (layer, _) = CATALOGUE[name], made(name)
    function = compiled(entry, layer)
    for rows in (slice(0, 3), slice(1, 2), slice(0, 0)):
        arrays = {n: take(array, axes, "B", rows) for n, (array, axes) in entry.inputs.items()}
        expected = entry.call(layer, arrays)
        assert_equal_outputs(function(*arrays.values()), expected)
    assert function.experimental_get_tracing_count() == 1


@pytest.mark.slow  # `test_one_by_one_is_together` has rows with and without padding
@every_class
def test_padding_changes_nothing(name):
    """With two more columns of padding, outputs on real tokens are equal up to rounding."""
    entry, (layer, outputs) = CATALOGUE[name], made(name)
    padded = {n: pad(array, axes, 2) for n, (array, axes) in entry.inputs.items()}
    changed = flat(entry.call(layer, padded))
    for one, other, axes in zip(outputs, changed, entry.outputs, strict=True):
        if axes is None:
            continue
        for row, length in enumerate(LENGTHS):
            assert_close(own(one, axes, row, length), own(other, axes, row, length))


def own(output, axes, row, length):
    """Returns the output for the real tokens of one row, with boundaries if there are any."""
    output, axes = take(output, axes, "B", row), axes.replace("B", "")
    output = take(output, axes, "T", slice(0, length))
    return take(output, axes, "S", slice(0, length + 2)).astype("float64")


@every_class
def test_one_by_one_is_together(name):
    entry, (layer, together) = CATALOGUE[name], made(name)
    for row, length in enumerate(LENGTHS):
        outputs = flat(entry.call(layer, one_row(entry, row)))
        for one, other, axes in zip(together, outputs, entry.outputs, strict=True):
            if axes is not None:
                expected = own(one, axes, row, length)
                # The terms of models of up to three layers or blocks.
                assert_close(own(other, axes, 0, length), expected, terms=256)


@pytest.mark.slow
@every_class
@pytest.mark.parametrize(
    "policy", ["mixed_bfloat16", pytest.param("mixed_float16", marks=pytest.mark.slow)]
)
def test_low_precision_is_close_and_float32(name, policy):
    entry = CATALOGUE[name]
    exact, rough = entry.make(), entry.make(policy)
    rough.set_weights(exact.get_weights())
    assert all(weight.dtype == "float32" for weight in rough.trainable_weights)
    one, other = (entry.call(layer, entry.arrays()) for layer in (exact, rough))
    # Only factors are rounded to 16 bits; their products are added in float32.
    assert_equal_outputs(one, other, unit=BFLOAT16, terms=4)
    changed = [(a != b).any() for a, b in zip(flat(one), flat(other), strict=True)]
    # These layers multiply no matrices in low precision. The multiplications of an Elmo belong to
    # its biLM and those of a PieceEncoder to its BERT, which have their own policies. An HMM and a
    # linear encoder only look up and add numbers, and a CRF adds in float32.
    exact = ("ScalarMix", "Elmo", "PieceEncoder", "HMMTagger", "LinearEncoder", "CRF")
    exact += ("Elmo, on a ManyLangsBiLM",)
    exact += ("PositionEmbedding", "SegmentEmbedding")  # they only look up and add
    assert any(changed) == (name not in exact)


@pytest.mark.slow
@every_class
@pytest.mark.parametrize("policy", ["bfloat16", pytest.param("float16", marks=pytest.mark.slow)])
def test_weights_of_low_precision(name, policy):
    """Sets all weights to 16 bits, which halves the memory, by a global policy or `dtype`."""
    entry = CATALOGUE[name]
    exact, rough = entry.make(), entry.make(policy)
    rough.set_weights(exact.get_weights())
    keras.config.set_dtype_policy(policy)
    try:
        everywhere = entry.make()
    finally:
        keras.config.set_dtype_policy("float32")
    everywhere.set_weights(exact.get_weights())
    are_low = any(weight.dtype == policy for weight in everywhere.weights)
    assert are_low != (name == "HMMTagger")  # its counts stay in float32
    expected = entry.call(exact, entry.arrays())
    for layer in rough, everywhere:
        found = entry.call(layer, entry.arrays())
        assert_equal_outputs(expected, found, unit=BFLOAT16, terms=4)
        types = zip(tf.nest.flatten(expected), tf.nest.flatten(found), strict=True)
        assert all(one.dtype == other.dtype for one, other in types)


@every_whole
def test_every_trainable_weight_gets_a_gradient(name):
    entry, (layer, _) = CATALOGUE[name], made(name)
    rng = np.random.default_rng(2)
    with tf.GradientTape() as tape:
        outputs = tf.nest.flatten(entry.call(layer, entry.arrays(), training=True))
        loss = sum(
            tf.reduce_sum(output * rng.normal(size=output.shape).astype("float32"))
            for output in outputs
            if output.dtype == tf.float32
        )
    assert layer.trainable_weights
    gradients = tape.gradient(loss, [weight.value for weight in layer.trainable_weights])
    for weight, gradient in zip(layer.trainable_weights, gradients, strict=True):
        assert gradient is not None, weight.path
        gradient = tf.convert_to_tensor(gradient).numpy()
        assert np.isfinite(gradient).all() and (gradient != 0.0).any(), weight.path
