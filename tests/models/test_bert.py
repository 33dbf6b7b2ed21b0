"""Tests BertEncoder against loops in NumPy, its parameter counts and its errors."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import bert
from docs.by_hand.transformer import ACTIVATIONS
from tests.closeness import assert_close
from tests.paper_weights import arrays, bert_weights
from tfreps._src.models.bert import FOREIGN
from tfreps._src.models.copy_weights import copy_weights
from tfreps.models import BertEncoder, Classifier

IDS = np.array([[2, 5, 7, 3], [2, 6, 3, 0], [0, 0, 0, 0]])
SEGMENTS = np.array([[0, 0, 1, 1], [0, 2, 2, 0], [0, 0, 0, 0]])


def make(**kwargs):
    sizes = {"hidden_dim": 8, "num_layers": 2, "num_heads": 2, "intermediate_dim": 12}
    encoder = BertEncoder(9, **{**sizes, "num_segments": 3, "max_sequence_length": 6, **kwargs})
    rng = np.random.default_rng(1)
    for weight in encoder.weights:
        if "seed" not in weight.path:
            weight.assign(rng.normal(scale=0.5, size=weight.shape))
    return encoder


def test_equals_numpy_text_by_text():
    encoder = make()
    weights, options = bert_weights(encoder), encoder.blocks[0].get_config()
    out = encoder({"token_ids": IDS, "segment_ids": SEGMENTS})
    for row, length in enumerate((4, 3)):
        layers, pooled = bert.bert(IDS[row, :length], SEGMENTS[row, :length], weights, options)
        found = out["layer_outputs"][row, :, :length]
        # The number of terms added in two blocks.
        assert_close(found, layers, terms=256)
        assert_close(out["pooled_output"][row], pooled, terms=256)
        np.testing.assert_array_equal(found[-1], out["sequence_output"][row, :length])
    assert not out["sequence_output"][2].numpy().any() and not out["mask"][2].numpy().any()


def test_without_segments_all_are_the_first_and_a_bare_tensor_will_do():
    encoder = make()
    expected = encoder({"token_ids": IDS, "segment_ids": 0 * IDS})["sequence_output"]
    np.testing.assert_array_equal(encoder(IDS)["sequence_output"], expected)


def test_a_mask_takes_the_place_of_the_padding_id():
    encoder = make(padding_id=8)
    shifted = np.where(IDS == 0, 8, IDS)
    expected = encoder({"token_ids": shifted})["sequence_output"]
    masked = encoder({"token_ids": IDS, "mask": IDS != 0})["sequence_output"]
    np.testing.assert_array_equal(masked, expected)
    left = np.array([[0, 0, *IDS[0]]])
    found = encoder({"token_ids": left, "mask": left != 0})
    assert_close(found["sequence_output"][0, 2:], expected[0])
    pooled = encoder({"token_ids": shifted})["pooled_output"]
    assert_close(found["pooled_output"][0], pooled[0])


@pytest.mark.parametrize(
    "total, options",
    [
        # Each has half a gigabyte of weights.
        pytest.param(109_482_240, {"vocabulary_size": 30_522}, marks=pytest.mark.slow),
        pytest.param(102_267_648, {"vocabulary_size": 21_128}, marks=pytest.mark.slow),
        (
            4_385_920,
            {"vocabulary_size": 30_522, "hidden_dim": 128, "num_layers": 2, "num_heads": 2},
        ),
        pytest.param(
            23_243_904,  # aespresso's model
            {
                **{"vocabulary_size": 32_162, "hidden_dim": 384, "num_layers": 6},
                **{"positions": "sinusoidal_full_index", "num_segments": 256},
            },
            marks=pytest.mark.slow,
        ),
    ],
)
def test_parameter_totals(total, options):
    options = {"num_layers": 12, **options}
    blocks = options["num_layers"]
    one, two = (BertEncoder(**{**options, "num_layers": n}).count_params() for n in (1, 2))
    assert one + (blocks - 1) * (two - one) == total


def test_attention_is_what_the_blocks_used():
    encoder = make()
    attention = encoder.attention({"token_ids": IDS})
    assert attention.shape == (3, 2, 2, 4, 4)
    rows = tf.reduce_sum(attention, -1).numpy()
    assert_close(rows[0], 1.0)
    assert_close(rows[1, ..., :3], 1.0)
    assert not rows[1, ..., 3].any() and not rows[2].any()


def test_equal_ids_share_one_row_of_the_gradient():
    encoder = make()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(np.array([[2, 5, 5, 5]]))["sequence_output"] ** 2)
    slices = tape.gradient(loss, encoder.token_embedding.embeddings.value)
    assert sorted(slices.indices.numpy()) == [2, 5]


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method:UserWarning")
@pytest.mark.slow
def test_quantizes_to_int8_and_takes_lora():
    encoder = make(hidden_dim=32, num_heads=4, intermediate_dim=64)
    exact = encoder(IDS)["sequence_output"].numpy()
    encoder.blocks[0].expand.enable_lora(2)
    # The kernel B of the adapters starts as zeros.
    np.testing.assert_array_equal(encoder(IDS)["sequence_output"], exact)
    other = make(hidden_dim=32, num_heads=4, intermediate_dim=64)
    other.quantize("int8")
    rough = other(IDS)["sequence_output"].numpy()
    assert 0 < np.abs(rough - exact).max() < 0.2
    assert other.token_embedding.dtype_policy.quantization_mode == "int8"


def test_adapters_and_frozen_parts_on_the_way_to_transformers(tmp_path):
    encoder = make()
    before = encoder(IDS)["sequence_output"].numpy()
    encoder.blocks[0].trainable = False
    encoder.blocks[1].expand.enable_lora(2)
    kernel = encoder.blocks[1].expand.lora_kernel_b
    kernel.assign(np.random.default_rng(0).normal(size=kernel.shape))
    adapted = encoder(IDS)["sequence_output"].numpy()
    assert np.abs(adapted - before).max() > 0.01
    with pytest.raises(ValueError, match="block_1/expand has LoRA adapters .* Save the model"):
        encoder.save_pretrained(tmp_path / "published")
    encoder.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(IDS)["sequence_output"], adapted)
    loaded.save_pretrained(tmp_path / "published")
    again = BertEncoder.from_pretrained(tmp_path / "published")
    assert_close(again(IDS)["sequence_output"], adapted)
    assert all(weight.trainable for weight in again.weights)
    again.blocks[0].expand.quantize("int8")
    with pytest.raises(ValueError, match=r"expand was quantized \(int8\)"):
        again.save_pretrained(tmp_path / "more")


def test_lora_trains_adapters_and_stores_ordinary_weights(tmp_path):
    encoder = make()
    before = [weight.numpy() for weight in encoder.weights]
    exact = encoder(IDS)["sequence_output"].numpy()
    encoder.enable_lora(2)
    assert_close(encoder(IDS)["sequence_output"], exact)
    model = Classifier(encoder, ["bad", "good"], pooling="first", dropout=0.0)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    model.fit({"token_ids": IDS[:2]}, np.array([0, 1]), epochs=2, verbose=0)
    adapters = {weight.path for weight in encoder.trainable_weights}
    assert len(adapters) == 2 * 4 * 2  # blocks, dense layers, kernels
    kept = [weight.numpy() for weight in encoder.weights if weight.path not in adapters]
    for new, old in zip(kept, before, strict=True):
        np.testing.assert_array_equal(new, old)

    merged = make()
    for own, other in zip(encoder.blocks, merged.blocks, strict=True):
        for name in ("attention/query_key_value", "attention/combine", "expand", "contract"):
            part, goal = own, other
            for step in name.split("/"):
                part, goal = getattr(part, step), getattr(goal, step)
            a, b = part.lora_kernel_a.numpy(), part.lora_kernel_b.numpy()
            assert np.abs(b).max() > 0.0
            goal.kernel.assign(goal.kernel.numpy() + a @ b)
    adapted = encoder(IDS)["sequence_output"]
    assert_close(merged(IDS)["sequence_output"], adapted)
    model.save(tmp_path / "model.keras")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the optimizer state of the adapters
        loaded = keras.saving.load_model(tmp_path / "model.keras").encoder
    assert_close(loaded(IDS)["sequence_output"], adapted)
    assert len(loaded.trainable_weights) == len(before)


def test_lora_with_wrong_ranks():
    encoder = make()
    with pytest.raises(ValueError, match="`rank` must be at least 1; got 0"):
        encoder.enable_lora(0)
    encoder.enable_lora(1)
    trained = len(encoder.trainable_weights)
    with pytest.raises(ValueError, match="The encoder already has adapters"):
        encoder.enable_lora(1)
    assert len(encoder.trainable_weights) == trained


def test_in_a_classifier_with_its_pooled_output():
    model = Classifier(make(), ["bad", "good"], pooling="pooled_output", dropout=0.0)
    alone = [model({"token_ids": IDS[:1]}), model({"token_ids": IDS[1:2, :3]})]
    together = model({"token_ids": IDS})["logits"]
    for row, out in enumerate(alone):
        assert_close(out["logits"][0], together[row])


def test_without_a_segment_table_the_segments_have_no_effect():
    encoder = make(num_segments=0)
    with_zeros = make()
    with_zeros.segment_embedding.table.assign(np.zeros([3, 8]))
    assert encoder.segment_embedding is None
    parts = ["token_embedding", "add_positions", "embedding_norm", "blocks/0", "blocks/1"]
    copy_weights(with_zeros, encoder, parts)
    found = encoder({"token_ids": IDS, "segment_ids": SEGMENTS + 7})["sequence_output"]
    np.testing.assert_array_equal(found, with_zeros(IDS)["sequence_output"])


def test_tables_of_another_width():
    encoder = make(embedding_dim=6, pooler_activation="gelu")
    assert encoder.token_embedding.embeddings.shape == (9, 6)
    first = {"token_ids": IDS[:1], "segment_ids": SEGMENTS[:1]}
    out = encoder(first)
    W, b = arrays(encoder.embedding_dense)
    xs = bert.embed(IDS[0], SEGMENTS[0], bert_weights(encoder)) @ W + b
    assert_close(out["layer_outputs"][0, 0], xs, terms=256)
    W, b = arrays(encoder.pooler_dense)
    first = out["sequence_output"][0, 0].numpy()
    pooled = [ACTIVATIONS["gelu"](z) for z in first @ W + b]
    assert_close(out["pooled_output"][0], pooled, terms=256)
    assert make(embedding_dim=8).embedding_dense is None


@pytest.mark.parametrize(
    "options, message",
    [
        ({"pooler_activation": "swoosh"}, "swoosh"),
        ({"hidden_dim": 9}, "`num_heads` must divide `hidden_dim`; got 2 heads for 9"),
        ({"positions": "relative"}, "`positions` must be one of learned, sinusoidal"),
        ({"activation": "swoosh"}, "swoosh"),
        ({"embeddings_initializer": "swoosh"}, "swoosh"),
        ({"kernel_initializer": "swoosh"}, "swoosh"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        BertEncoder(
            **{"vocabulary_size": 9, "hidden_dim": 8, "num_heads": 2, "num_layers": 1, **options}
        )


def test_inputs_out_of_range():
    encoder = make()
    with pytest.raises(tf.errors.InvalidArgumentError, match="ids must lie in 0..8"):
        encoder(np.array([[2, 9]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="segment ids must lie in 0..2"):
        encoder({"token_ids": IDS, "segment_ids": SEGMENTS + 1})
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="more tokens than `max_sequence_length`"
    ):
        encoder(np.full([1, 7], 5))
    for theirs, ours in FOREIGN.items():
        with pytest.raises(ValueError, match=f"key `{theirs}`; rename it to `{ours}`"):
            encoder({"token_ids": IDS, theirs: IDS})
    with pytest.raises(ValueError, match="must have the key `token_ids`; got \\['ids'\\]"):
        encoder({"ids": IDS})
    for wrong, got in (
        (IDS[0], rf"of shape \({IDS.shape[1]},\)"),
        (IDS[None], r"of shape \(1, "),
        (IDS.astype("float32"), "float32 of shape"),
        (np.array([["a"]]), "string of shape"),
    ):
        with pytest.raises(ValueError, match=rf"must be integers of shape \[B, T\]; got .*{got}"):
            encoder({"token_ids": tf.constant(wrong)})
    with pytest.raises(ValueError, match="`mask` must have the shape of `token_ids`"):
        encoder({"token_ids": IDS, "mask": IDS[0] != 0})
