"""Sizes of published models, by name, as keyword arguments for models trained from scratch."""

from typing import Any

_FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]

# Keyword arguments of BiLM. The last three are the published ELMo models with 13.6, 28.0 and
# 93.6 million parameters; elmo_tiny is for demonstrations on a laptop.
ELMO: dict[str, dict[str, Any]] = {
    "elmo_tiny": {
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128]],
        "num_highways": 1,
        "units": 256,
        "projection_dim": 64,
    },
    "elmo_small": {
        "filters": _FILTERS,
        "num_highways": 1,
        "units": 1024,
        "projection_dim": 128,
    },
    "elmo_medium": {
        "filters": _FILTERS,
        "num_highways": 1,
        "units": 2048,
        "projection_dim": 256,
    },
    "elmo_original": {
        "filters": _FILTERS,
        "num_highways": 2,
        "units": 4096,
        "projection_dim": 512,
    },
}

# Keyword arguments of SLSTMEncoder: the model of the paper and that of the authors' released code,
# which needs an embedder as wide as the states.
SLSTM: dict[str, dict[str, Any]] = {
    "slstm_paper": {"units": 300, "num_steps": 9, "window": 1, "l2": 1e-3},
    "slstm_released": {
        "units": 300,
        "num_steps": 7,
        "window": 2,
        "neighbors": "summed",
        "input_term": "embedding",
        "initial_state": "embedding",
        "boundary": "zeros",
        "state_dropout": 0.5,
    },
}

# Options for training each S-LSTM size with Adam, whose learning rate is multiplied by
# `learning_rate_decay` after every epoch. `dropout` applies to the embedder and to the classifier
# or tagger.
SLSTM_TRAINING: dict[str, dict[str, Any]] = {
    "slstm_paper": {
        "dropout": 0.5,
        "learning_rate": 1e-3,
        "learning_rate_decay": 0.97,
        "batch_size": 10,
    },
    "slstm_released": {
        "dropout": 0.5,
        "learning_rate": 1e-3,
        "learning_rate_decay": 1.0,
        "clip_norm": 5.0,
        "batch_size": 5,
    },
}

# Keyword arguments of BertEncoder, except for the vocabulary size: aespresso's model with 23.2
# million parameters and the sizes that Google published (bert_base has 109.5 million parameters).
# bert_nano is for demonstrations on a laptop.
BERT: dict[str, dict[str, Any]] = {
    "bert_6x384": {
        "hidden_dim": 384,
        "num_layers": 6,
        "num_heads": 12,
        "dropout": 0.4,
        "attention_dropout": 0.4,
        "positions": "sinusoidal_full_index",
        "normalize_positions": True,
        "num_segments": 256,
        "embeddings_initializer": "orthogonal_rows",
    },
    "bert_nano": {"hidden_dim": 64, "num_layers": 2, "num_heads": 2, "max_sequence_length": 128},
    "bert_tiny": {"hidden_dim": 128, "num_layers": 2, "num_heads": 2},
    "bert_mini": {"hidden_dim": 256, "num_layers": 4, "num_heads": 4},
    "bert_small": {"hidden_dim": 512, "num_layers": 4, "num_heads": 8},
    "bert_medium": {"hidden_dim": 512, "num_layers": 8, "num_heads": 8},
    "bert_base": {"hidden_dim": 768, "num_layers": 12, "num_heads": 12},
    "bert_large": {"hidden_dim": 1024, "num_layers": 24, "num_heads": 16},
}
