"""Presets: the sizes of published models, as keyword arguments."""

_FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]

# Keyword arguments of BiLM. The last three are the published ELMo models of 13.6, 28.0 and
# 93.6 million parameters; elmo_tiny is for demonstrations on a laptop.
ELMO = {
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
