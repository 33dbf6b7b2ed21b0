"""Stores the targets of sentences, one per token or one per sentence, for batches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf


class TokenValues:
    """One value, or one row of values, for every token: int32 for integers and float32 for floats.

    `values` has an array or list of shape `[n, ...]` for each sentence of n tokens. Only the values
    of the tokens that remain after truncation are stored; `cut_lengths` has the number of these
    tokens for each sentence.
    """

    def __init__(
        self,
        values: Sequence[Any] | np.ndarray,
        lengths: np.ndarray,
        cut_lengths: np.ndarray,
        name: str,
    ):
        check_number(values, lengths, name)
        parts = []
        for number, (own, length) in enumerate(zip(values, lengths.tolist(), strict=True)):
            if len(own) != length:
                raise ValueError(
                    f"{name}, sentence {number} (counted from 0): expected {length} values, one "
                    f"per token; got {len(own)}."
                )
            if length:
                parts.append(np.asarray(own)[: cut_lengths[number]])
        try:
            flat = np.concatenate(parts) if parts else np.zeros([1], np.int32)
        except ValueError as error:
            raise ValueError(
                f"{name} must have values of the same shape for all tokens ({error}). Pad the "
                "values of each token to one shape."
            ) from error
        self.flat = flat.astype({"i": np.int32, "f": np.float32}.get(flat.dtype.kind, flat.dtype))
        self.spec = tf.TensorSpec([None, None, *flat.shape[1:]], self.flat.dtype)

    def batch(self, sentences: np.ndarray, positions: np.ndarray, real: np.ndarray) -> np.ndarray:
        """Returns the values of a batch, `[B, T, ...]`, which are 0 on padding."""
        values = self.flat[positions]
        values[~real] = 0
        return values


class SentenceValues:
    """One integer for every sentence, such as the id of its label."""

    def __init__(self, values: np.ndarray):
        self.values = values.astype(np.int32)
        self.spec = tf.TensorSpec([None], tf.int32)

    def batch(self, sentences: np.ndarray, positions: np.ndarray, real: np.ndarray) -> np.ndarray:
        """Returns the values of a batch, int32 `[B]`; only the argument `sentences` is used."""
        return self.values[sentences]


def make_targets(
    targets: Sequence[Any] | np.ndarray, lengths: np.ndarray, cut_lengths: np.ndarray
) -> TokenValues | SentenceValues:
    """Returns the targets in an object whose method `batch` returns the targets of a batch.

    The object is a `TokenValues` if the targets are lists, such as tag ids, and a
    `SentenceValues` if they are integers, such as label ids.
    """
    check_number(targets, lengths, "`targets`")
    are_labels = [np.ndim(target) == 0 for target in targets]
    if all(are_labels):
        labels = np.asarray(targets)
        _check_ids(labels, "TagSet.from_sequences([labels], word='label').encode(labels)")
        return SentenceValues(labels)
    if any(are_labels):
        number = are_labels.index(not are_labels[0])
        raise ValueError(
            "`targets` must have one label for every sentence, or a list of tags for every "
            f"sentence; sentence 0 has {targets[0]!r}, but sentence {number} has "
            f"{targets[number]!r}."
        )
    tags = TokenValues(targets, lengths, cut_lengths, "`targets`")
    if tags.flat.ndim == 2 and tags.flat.dtype.kind in "bf":
        return tags
    _check_ids(tags.flat, "[tag_set.encode(row) for row in tags] with a TagSet")
    return tags


def check_number(values: Sequence[Any] | np.ndarray, lengths: np.ndarray, name: str) -> None:
    """Raises a ValueError if the number of values differs from the number of sentences."""
    if len(values) != len(lengths):
        raise ValueError(
            f"{name} must have one entry per sentence; got {len(values)} entries for "
            f"{len(lengths)} sentences."
        )


def _check_ids(ids: np.ndarray, conversion: str) -> None:
    if ids.ndim != 1:
        raise ValueError(
            "`targets` must have one integer per token, the id of its tag, or one bool or float "
            f"for each tag; got {ids.dtype} of shape {ids.shape[1:]} per token."
        )
    if not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(
            "`targets` must be integers, the ids of tags or labels; got "
            f"{ids.reshape(-1).tolist()[0]!r}. Convert names to ids with tfreps.tags.TagSet: "
            f"{conversion}."
        )
    if ids.min() < 0:
        raise ValueError(
            f"`targets` must not contain negative ids; got {ids.min()}. To ignore a sentence, pass "
            "any valid id and set its weight in `sentence_weights` to 0."
        )
