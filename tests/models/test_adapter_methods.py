"""LoRA with the options of PEFT: the formula in NumPy, dropout, modules and PEFT's folders."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file

from tests.closeness import assert_close
from tests.models.test_bert import IDS, make
from tfreps._src.layers.ops.lora_dense import LoraDense
from tfreps.models import Classifier

RANDOM = np.random.default_rng(0)
PARTS = {"query": 0, "key": 1, "value": 2}


def dense_of(encoder, name):
    """Returns the dense layer, part and number of parts of a module of `BertModel`."""
    if name == "pooler.dense":
        return encoder.pooler_dense, 0, 1
    _, _, number, inner = name.split(".", 3)
    block = encoder.blocks[int(number)]
    if inner.startswith("attention.self."):
        return block.attention.query_key_value, PARTS[inner.rsplit(".", 1)[1]], 3
    names = {"intermediate.dense": block.expand, "output.dense": block.contract}
    return names.get(inner, block.attention.combine), 0, 1


def write_folder(path, encoder, names, rank=2, alpha=6, prefix="", **changes):
    """Writes a folder as PEFT does, with random adapters; returns `{name: (A, B)}`."""
    arrays, found = {}, {}
    for name in names:
        dense, _, num_parts = dense_of(encoder, name)
        a = RANDOM.normal(size=[rank, dense.kernel.shape[0]]).astype("float32")
        b = RANDOM.normal(size=[dense.units // num_parts, rank]).astype("float32")
        found[name] = a, b
        stem = f"base_model.model.{prefix}{name}"
        arrays |= {f"{stem}.lora_A.weight": a, f"{stem}.lora_B.weight": b}
    path.mkdir()
    save_file(arrays, path / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "lora_dropout": 0.25}
    config |= {"bias": "none", "modules_to_save": None, "rank_pattern": {}, "use_dora": False}
    config = {**config, "target_modules": [*names], **changes}
    (path / "adapter_config.json").write_text(json.dumps(config))
    return found


def merged(encoder, adapters, scale):
    """Returns a copy of an encoder whose kernels are W + scale * B A, in the order of PEFT."""
    other = make()
    for own, weight in zip(encoder.weights, other.weights, strict=True):
        weight.assign(own)
    for name, (a, b) in adapters.items():
        dense, part, num_parts = dense_of(other, name)
        kernel, width = dense.kernel.numpy(), dense.units // num_parts
        for row in range(b.shape[0]):
            for column in range(a.shape[1]):
                change = sum(float(b[row, i]) * float(a[i, column]) for i in range(a.shape[0]))
                kernel[column, part * width + row] += scale * change
        dense.kernel.assign(kernel)
    return other


def names_of(encoder, *ends):
    layers = [f"encoder.layer.{n}.{end}" for n in range(2) for end in ends]
    return [name for name in encoder._lora_modules() if name in layers]


ALL = [f"attention.self.{name}" for name in PARTS]
ALL += ["attention.output.dense", "intermediate.dense", "output.dense"]


@pytest.mark.parametrize("prefix", ["", "bert."])
@pytest.mark.parametrize("ends", [["attention.self.query", "attention.self.value"], ALL])
def test_an_adapter_of_peft(tmp_path, ends, prefix):
    encoder = make()
    names = [*names_of(encoder, *ends), *["pooler.dense"][: len(ends) > 2]]
    adapters = write_folder(tmp_path / "peft", encoder, names, prefix=prefix)
    expected = merged(encoder, adapters, 6 / 2)(IDS)
    encoder.load_adapter(tmp_path / "peft")
    for name in "sequence_output", "pooled_output":
        assert_close(encoder(IDS)[name], expected[name], terms=1024)
    assert all("lora_" in weight.name for weight in encoder.trainable_weights)
    encoder.save_adapter(tmp_path / "again", "google-bert/bert-base-cased")
    again = load_file(tmp_path / "again" / "adapter_model.safetensors")
    assert len(again) == 2 * len(names)
    for name, (a, b) in adapters.items():
        np.testing.assert_array_equal(again[f"base_model.model.{name}.lora_A.weight"], a)
        np.testing.assert_array_equal(again[f"base_model.model.{name}.lora_B.weight"], b)
    config = json.loads((tmp_path / "again" / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"], config["lora_dropout"]) == (2, 6, 0.25)
    assert config["target_modules"] == names and config["peft_type"] == "LORA"
    assert config["base_model_name_or_path"] == "google-bert/bert-base-cased"
    encoder.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(IDS)["sequence_output"], expected["sequence_output"], terms=1024)


@pytest.mark.parametrize("targets", [None, ["query", "value"], ["dense"]])
def test_trained_adapters_are_written_and_read(tmp_path, targets):
    keras.utils.set_random_seed(0)
    encoder = make()
    plain = merged(encoder, {}, 0)
    encoder.enable_lora(2, lora_alpha=3, target_modules=targets)
    before = encoder(IDS)["sequence_output"]
    assert_close(before, plain(IDS)["sequence_output"], terms=1024)
    model = Classifier(encoder, ["bad", "good"], pooling="pooled_output", dropout=0.0)
    model.compile(keras.optimizers.Adam(0.05), run_eagerly=True)
    model.fit({"token_ids": IDS[:2]}, np.array([0, 1]), epochs=3, verbose=0)
    trained = encoder(IDS)["sequence_output"].numpy()
    assert np.abs(trained - before).max() > 0.001
    encoder.save_adapter(tmp_path / "adapter")
    plain.load_adapter(tmp_path / "adapter")
    assert_close(plain(IDS)["sequence_output"], trained, terms=1024)


def test_modules_by_the_ends_of_their_names():
    chosen = {
        ("query",): [f"encoder.layer.{n}.attention.self.query" for n in range(2)],
        ("output.dense",): names_of(make(), "attention.output.dense", "output.dense"),
        ("encoder.layer.1.output.dense",): ["encoder.layer.1.output.dense"],
        ("pooler.dense", "key"): [*names_of(make(), "attention.self.key"), "pooler.dense"],
    }
    for targets, names in chosen.items():
        encoder = make()
        encoder.enable_lora(1, target_modules=targets)
        found = [
            name
            for name, (dense, part, num) in encoder._lora_modules().items()
            if dense.adapter(part, num)
        ]
        assert found == names


def test_a_dense_layer_with_parts_and_dropout():
    """y = x W + b + alpha / r * dropout(x) A B, where B has a block for each part."""
    layer = LoraDense(6)
    layer.build((None, 4))
    layer.kernel.assign(RANDOM.normal(size=[4, 6]))
    layer.bias.assign(RANDOM.normal(size=[6]))
    layer.enable_lora(2, 5, lora_dropout=0.5, parts=[0, 2], num_parts=3)
    x = RANDOM.normal(size=[3, 4]).astype("float32")
    pairs = {part: (RANDOM.normal(size=[4, 2]), RANDOM.normal(size=[2, 2])) for part in (0, 2)}
    for part, pair in pairs.items():
        layer.set_adapter(part, 3, *pair)
    frozen = layer._kernel.numpy()

    def expected(dropped):
        y = x @ frozen + layer.bias.numpy()
        for part, (a, b) in pairs.items():
            y[:, 2 * part : 2 * part + 2] += 5 / 2 * dropped @ a @ b
        return y

    assert_close(layer(x), expected(x))
    assert_close(x @ layer.kernel.numpy() + layer.bias.numpy(), expected(x))
    keras.utils.set_random_seed(1)
    layer.lora_drop.seed_generator.state.assign([3, 0])
    trained = layer(x, training=True)
    layer.lora_drop.seed_generator.state.assign([3, 0])
    dropped = layer.lora_drop(x, training=True).numpy()
    assert 0 < (dropped == 0).sum() < 12 and set(np.round(dropped / x, 5).ravel()) == {0.0, 2.0}
    assert_close(trained, expected(dropped))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(x, training=True) ** 2)
    gradient = tape.gradient(loss, layer.lora_kernel_b.value).numpy()
    blocks = np.kron([[1, 0, 0], [0, 0, 1]], np.ones([2, 2]))
    assert (gradient[blocks == 0] == 0).all() and (gradient[blocks == 1] != 0).all()


def test_options_that_are_wrong():
    for options, message in [
        ({"lora_alpha": 0}, "`lora_alpha` must be above 0, or None; got 0"),
        ({"lora_dropout": 1}, "`lora_dropout` must be at least 0 and below 1; got 1"),
        ({"target_modules": "query"}, "must be a list of names; got the string 'query'"),
        ({"target_modules": []}, "must contain at least one name"),
        ({"target_modules": ["query", "q_proj"]}, "such as attention.self.query, .* 'q_proj'"),
    ]:
        encoder = make()
        with pytest.raises(ValueError, match=message):
            encoder.enable_lora(2, **options)
        assert len(encoder.trainable_weights) == len(make().trainable_weights)


def test_an_encoder_without_adapters_has_none_to_write(tmp_path):
    with pytest.raises(ValueError, match="must have adapters of one rank .* ranks \\[\\]"):
        make().save_adapter(tmp_path / "adapter")
    assert not (tmp_path / "adapter").exists()


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"peft_type": "LOHA"}, "`peft_type` must be 'LORA'; got 'LOHA'"),
        ({"use_dora": True}, "`use_dora` must be False; got True"),
        ({"use_rslora": True}, "`use_rslora` must be False; got True"),
        ({"bias": "all"}, "`bias` must be 'none'; got 'all'"),
        ({"modules_to_save": ["classifier"]}, r"`modules_to_save` must be \[\]; got \['classif"),
        ({"rank_pattern": {"query": 4}}, "`rank_pattern` must be {}; got {'query': 4}"),
        ({"r": "2"}, "`r` must be an int of at least 1, .* got '2'"),
        ({"r": 3}, r"query.lora_A.weight: expected \(3, 8\), got \(2, 8\)"),
    ],
)
def test_adapters_that_are_not_supported(tmp_path, changes, message):
    encoder = make()
    names = names_of(encoder, "attention.self.query")
    write_folder(tmp_path / "peft", encoder, names, **changes)
    with pytest.raises(ValueError, match=message):
        encoder.load_adapter(tmp_path / "peft")
    assert len(encoder.trainable_weights) == len(make().trainable_weights)


def test_arrays_of_other_modules(tmp_path):
    encoder = make()
    write_folder(tmp_path / "more", encoder, names_of(encoder, "intermediate.dense"))
    path = tmp_path / "more" / "adapter_model.safetensors"
    arrays = load_file(path)
    save_file({**arrays, "base_model.model.classifier.weight": np.zeros([2, 8], "f4")}, path)
    with pytest.raises(ValueError, match="not used: base_model.model.classifier.weight"):
        encoder.load_adapter(tmp_path / "more")
    arrays.pop("base_model.model.encoder.layer.1.intermediate.dense.lora_A.weight")
    save_file(arrays, path)
    with pytest.raises(ValueError, match="missing: base_model.model.encoder.layer.1.intermed"):
        encoder.load_adapter(tmp_path / "more")
    save_file({"base_model.model.h.0.c_attn.lora_A.weight": np.zeros([2, 8], "f4")}, path)
    with pytest.raises(ValueError, match="adapters of modules of a BertEncoder; .*h.0.c_attn"):
        encoder.load_adapter(tmp_path / "more")
    with pytest.raises(ValueError, match="expected adapter_config.json of PEFT; there is none"):
        encoder.load_adapter(tmp_path)


def test_damaged_files(tmp_path):
    encoder = make()
    write_folder(tmp_path / "peft", encoder, names_of(encoder, "output.dense"))
    path = tmp_path / "peft" / "adapter_model.safetensors"
    whole, arrays = path.read_bytes(), load_file(path)
    next(iter(arrays.values()))[0, 0] = np.nan
    save_file(arrays, path)
    with pytest.raises(ValueError, match="must .*finite|NaN|infinite"):
        encoder.load_adapter(tmp_path / "peft")
    path.write_bytes(whole[:-9])
    with pytest.raises(ValueError, match="adapter_model.safetensors: expected a safetensors file"):
        encoder.load_adapter(tmp_path / "peft")
    path.unlink()
    with pytest.raises(ValueError, match="adapter_model.safetensors: .* does not exist"):
        encoder.load_adapter(tmp_path / "peft")
    assert not any(dense.lora_enabled for dense, _, _ in encoder._lora_modules().values())
