"""Creates random batches for training steps, with token ids as frequent as in real text."""

import numpy as np


def frequent_ids(rng, shape, vocabulary_size):
    """Returns random token ids, at least 1, from a log-uniform distribution."""
    return (vocabulary_size ** rng.random(shape)).astype("int32")


def lm_batch(rng, shape, vocabulary_size):
    """Returns a batch `[rows, tokens]` in the form of `LMBatches`, for both directions."""
    batch = {"unknown_characters": np.zeros([0, 50], "int32")}
    for end in "", "_reverse":
        ids = frequent_ids(rng, shape, vocabulary_size)
        batch |= {f"token_ids{end}": ids, f"character_rows{end}": ids}
        batch[f"next_token_id{end}"] = frequent_ids(rng, shape, vocabulary_size)
        batch[f"mask{end}"] = np.ones(shape, bool)
    return batch


def masked_batch(rng, shape, num_masked, vocabulary_size):
    """Returns a batch `[rows, tokens]` in the form of `MaskedLMBatches`."""
    rows, length = shape
    return {
        "token_ids": frequent_ids(rng, shape, vocabulary_size),
        "segment_ids": np.zeros(shape, "int32"),
        "mask": np.ones(shape, bool),
        "masked_positions": rng.integers(0, length, (rows, num_masked), dtype="int32"),
        "masked_ids": frequent_ids(rng, (rows, num_masked), vocabulary_size),
        "masked_weights": np.ones((rows, num_masked), "float32"),
        "next_sentence_labels": rng.integers(0, 2, rows, dtype="int32"),
    }
