"""Catalogue entries of attention, Transformer layers and models with Transformers."""

import numpy as np

from tests.catalogue_entry import MASK, RNG, B, Entry, T, normal
from tfreps import layers, models

WORDS = np.where(MASK, RNG.integers(1, 12, [B, T]), 0).astype("int32")
SEGMENTS = RNG.integers(0, 3, [B, T]).astype("int32")

PIECES = np.where(RNG.random([B, T, 3]) < 0.3, 0, RNG.integers(3, 12, [B, T, 3])).astype("int32")
PIECES[..., 0] = WORDS

MASKED = {
    **{"token_ids": WORDS, "segment_ids": SEGMENTS % 2, "mask": MASK},
    "masked_positions": np.array([[4, 1, 0], [1, 0, 0], [0, 0, 0]], "int32"),
}
MASKED_AXES = {name: "BM" if name == "masked_positions" else "BT" for name in MASKED}


def words_embedder():
    return models.TokenEmbedder(vocabulary_size=11, embedding_dim=4)


def small_bert(**options):
    return models.BertEncoder(
        vocabulary_size=12, hidden_dim=8, num_layers=1, num_heads=2, **options
    )


TRANSFORMERS = {
    "SelfAttention": Entry(
        layers.SelfAttention,
        lambda: {"num_heads": 2, "causal": True, "dropout": 0.1, "kernel_initializer": "he_normal"},
        {"inputs": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BTD"],
    ),
    "TransformerBlock": Entry(
        layers.TransformerBlock,
        lambda: {
            "num_heads": 2,
            "intermediate_dim": 6,
            "normalize_first": True,
            "activation": "gelu_tanh",
            "causal": True,
            "dropout": 0.1,
            "attention_dropout": 0.2,
            "layer_norm_epsilon": 1e-6,
            "kernel_initializer": "he_normal",
            "seed": 4,
        },
        {"inputs": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BTD"],
    ),
    "TransformerBlock, as in BERT": Entry(
        layers.TransformerBlock,
        lambda: {"num_heads": 2},
        {"inputs": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BTD"],
    ),
    "PositionEmbedding": Entry(
        layers.PositionEmbedding,
        lambda: {
            "positions": "learned",
            "max_sequence_length": 6,
            "normalize_positions": True,
            "embeddings_initializer": "orthogonal_rows",
        },
        {"inputs": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BTD"],
    ),
    "SegmentEmbedding": Entry(
        layers.SegmentEmbedding,
        lambda: {
            "num_segments": 3,
            "units": 4,
            "embeddings_initializer": "orthogonal_rows",
        },
        {"inputs": (RNG.integers(0, 3, [B, T]).astype("int32"), "BT")},
        ["BTD"],
    ),
    "PieceEncoder": Entry(
        models.PieceEncoder,
        lambda: {"encoder": small_bert(), "start_id": 1, "separator_id": 2},
        {"features": ({"piece_ids": PIECES, "mask": MASK}, {"piece_ids": "BTC", "mask": "BT"})},
        ["BT", "BD", "BTD"],
        nested=("encoder",),
    ),
    "TransformerEncoder": Entry(
        models.TransformerEncoder,
        lambda: {
            "embedder": words_embedder(),
            "hidden_dim": 6,
            "num_layers": 1,
            "num_heads": 2,
            "intermediate_dim": 5,
            "normalize_first": False,
            "activation": "relu",
            "positions": "learned",
            "max_sequence_length": 6,
            "normalize_positions": True,
            "causal": True,
            "dropout": 0.2,
            "attention_dropout": 0.3,
            "layer_norm_epsilon": 1e-6,
            "kernel_initializer": "he_normal",
        },
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BLTD", "BT", "BTD"],  # layer_outputs, mask, sequence_output
        nested=("embedder",),
    ),
    "TransformerEncoder, layer norm first": Entry(
        models.TransformerEncoder,
        lambda: {"embedder": words_embedder(), "hidden_dim": 16, "num_heads": 2},
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BLTD", "BT", "BTD"],
        nested=("embedder",),
    ),
    "BertEncoder": Entry(
        models.BertEncoder,
        lambda: {
            "vocabulary_size": 12,
            "hidden_dim": 6,
            "num_layers": 1,
            "num_heads": 2,
            "intermediate_dim": 5,
            "normalize_first": True,
            "activation": "gelu_tanh",
            "dropout": 0.2,
            "attention_dropout": 0.3,
            "layer_norm_epsilon": 1e-6,
            "positions": "sinusoidal_full_index",
            "max_sequence_length": 6,
            "normalize_positions": True,
            "num_segments": 3,
            "padding_id": 0,
            "embeddings_initializer": "orthogonal_rows",
            "kernel_initializer": "he_normal",
            "pooler": False,
        },
        {"features": ({"token_ids": WORDS, "segment_ids": SEGMENTS, "mask": MASK}, "BT")},
        ["BLTD", "BT", "BTD"],  # layer_outputs, mask, sequence_output
    ),
    "BertEncoder, tables of another width": Entry(
        models.BertEncoder,
        lambda: {
            "vocabulary_size": 12,
            "hidden_dim": 6,
            "num_layers": 1,
            "num_heads": 2,
            "num_segments": 0,
            "embedding_dim": 4,
            "pooler_activation": "relu",
        },
        {"features": ({"token_ids": WORDS, "segment_ids": SEGMENTS, "mask": MASK}, "BT")},
        ["BLTD", "BT", "BD", "BTD"],
    ),
    "BertEncoder, as published": Entry(
        models.BertEncoder,
        lambda: {"vocabulary_size": 12, "hidden_dim": 8, "num_layers": 2, "num_heads": 2},
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BLTD", "BT", "BD", "BTD"],
    ),
    "BertPretrainer": Entry(
        models.BertPretrainer,
        lambda: {
            "encoder": small_bert(activation="gelu_tanh", pooler=False),
            "next_sentence": False,
        },
        {"features": (MASKED, MASKED_AXES)},
        ["BMV"],
        nested=("encoder",),
    ),
    "BertPretrainer, next sentences too": Entry(
        models.BertPretrainer,
        lambda: {"encoder": small_bert()},
        {"features": (MASKED, MASKED_AXES)},
        ["BK", "BMV"],
        nested=("encoder",),
    ),
}
