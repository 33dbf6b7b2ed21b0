"""Tests that weights are copied by name, all or none, trainable or not."""

import numpy as np
import pytest

from tfreps._src.models.copy_weights import changed_copy, copy_weights, weights_by_name
from tfreps.models import BertEncoder, BiLM, TextCNN, TokenEmbedder


def bert(**options):
    sizes = {"vocabulary_size": 9, "hidden_dim": 8, "num_layers": 2, "num_heads": 2}
    return BertEncoder(**{**sizes, "max_sequence_length": 5, **options})


def assert_same(one, other, same=True):
    pairs = zip(one.weights, other.weights, strict=True)
    matrices = [(a, b) for a, b in pairs if len(a.shape) == 2]
    assert matrices and all((a.numpy() == b.numpy()).all() == same for a, b in matrices)


def test_names_are_paths():
    names = weights_by_name(bert(num_layers=1, pooler=False))
    assert len(names) == 5 + 2 * 2 + 4 * 2
    assert "blocks/0/attention/combine/kernel" in names and "token_embedding/embeddings" in names
    cnn = TextCNN(TokenEmbedder(vocabulary_size=9, embedding_dim=4), num_filters=3, widths=[2, 2])
    assert [*weights_by_name(cnn)] == [
        *("width_2_kernel", "width_2_bias", "width_2_kernel_1", "width_2_bias_1"),
        "embedder/word_embeddings",
    ]


def test_all_weights_whatever_is_frozen():
    source, target = bert(), bert(trainable=False)
    source.blocks[0].trainable = False
    assert_same(target, source, same=False)
    copy_weights(target, source)
    assert_same(target, source)
    ids = np.array([[2, 5, 3, 0]])
    np.testing.assert_array_equal(target(ids)["sequence_output"], source(ids)["sequence_output"])


def test_word_vectors_that_are_trained_only_here():
    source = TokenEmbedder(vocabulary_size=9, embedding_dim=4, vector_layers=2, vector_dim=3)
    copy = changed_copy(source, trainable_embeddings=False)
    assert_same(copy, source)
    assert len(copy.trainable_weights) == len(source.trainable_weights) - 1


def test_some_parts():
    source, target = bert(num_layers=3), bert(num_layers=2, pooler=False)
    copy_weights(target, source, parts=["token_embedding", "blocks/1"])
    assert_same(target.token_embedding, source.token_embedding)
    assert_same(target.blocks[1], source.blocks[1])
    assert_same(target.blocks[0], source.blocks[0], same=False)


def test_single_weights_and_layers_without_any():
    source, target = bert(positions="sinusoidal"), bert(positions="sinusoidal", pooler=False)
    copy_weights(target, source, parts=["add_positions", "blocks/0/expand/kernel"])
    assert_same(target.blocks[0].expand, source.blocks[0].expand)
    assert_same(target.blocks[0].contract, source.blocks[0].contract, same=False)


def test_a_copy_of_what_was_quantized():
    source = bert()
    source.blocks[0].expand.quantize("int8")
    copy = changed_copy(source, dropout=0.3)
    assert copy.dropout == 0.3 and copy.blocks[0].expand.kernel.dtype == "int8"
    ids = np.array([[2, 5, 3, 0]])
    np.testing.assert_array_equal(copy(ids)["sequence_output"], source(ids)["sequence_output"])


@pytest.mark.parametrize(
    "options, parts, message",
    [
        (
            {"pooler": False},
            None,
            "BertEncoder 'theirs' has the weight 'pooler_dense/bias', which BertEncoder 'ours' "
            "does not have.*the same options, or list in `parts` the layers",
        ),
        (
            {"max_sequence_length": 6},
            None,
            r"The weight 'add_positions/table' has shape \(6, 8\) in BertEncoder 'ours' and "
            r"\(5, 8\) in BertEncoder 'theirs'",
        ),
        (
            {},
            ["blocks/2"],
            "BertEncoder 'ours'; got 'blocks/2'. The model has token_embedding, ",
        ),
    ],
)
def test_what_does_not_fit(options, parts, message):
    source, target = bert(name="theirs"), bert(name="ours", **options)
    before = target.get_weights()
    with pytest.raises(ValueError, match=message):
        copy_weights(target, source, parts)
    for weight, old in zip(target.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, old)


def test_what_was_quantized_is_not_copied_to_what_was_not():
    source = bert()
    source.blocks[0].expand.quantize("int8")
    with pytest.raises(ValueError, match="has the weight 'blocks/0/expand/kernel_scale', which"):
        copy_weights(bert(), source)


def test_a_carried_state_is_copied_too():
    source = BiLM(
        filters=[[1, 4]], units=4, projection_dim=2, initial_state="carry", max_batch_size=2
    )
    source.kept_states[1].assign(np.ones(source.kept_states[1].shape))
    copy = changed_copy(source)
    np.testing.assert_array_equal(copy.kept_states[1], source.kept_states[1])
