"""Targets of sentences by batch: one value for each token, or one for each sentence."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf


class TokenValues:
    """Holds one value, or row of values, for every token of every sentence.

    Args:
        values: for each sentence an array or list `[n, ...]`.
        lengths: int `[N]`, n.
        cut_lengths: int `[N]`, how many of them are used.
        name: str. How errors call the values.

    Numbers are kept as int32 or float32.

    Raises:
        ValueError: a sentence has not as many values as tokens, or the values are ragged.
    """

    def __init__(
        self,
        values: Sequence,
        lengths: np.ndarray,
        cut_lengths: np.ndarray,
        name: str,
    ):
        check_number(values, lengths, name)
        parts = []
        for number, (own, length) in enumerate(zip(values, lengths.tolist(), strict=True)):
            if len(own) != length:
                raise ValueError(
                    f"Sentence {number} (counted from 0): {length} tokens, but {len(own)} values "
                    f"in {name}. Every token needs one."
                )
            if length:
                parts.append(np.asarray(own)[: cut_lengths[number]])
        try:
            flat = np.concatenate(parts) if parts else np.zeros([1], np.int32)
        except ValueError as error:
            raise ValueError(f"{name} must have one shape per token ({error}).") from error
        self.flat = flat.astype({"i": np.int32, "f": np.float32}.get(flat.dtype.kind, flat.dtype))
        self._shape = [None, None, *flat.shape[1:]]

    @property
    def spec(self) -> tf.TensorSpec:
        """The `tf.TensorSpec` of a batch."""
        return tf.TensorSpec(self._shape, self.flat.dtype)

    def batch(self, sentences: np.ndarray, places: np.ndarray, real: np.ndarray) -> np.ndarray:
        """Returns the values of a batch, `[B, T, ...]`, 0 on padding; see `TokenRows.places`."""
        values = self.flat[places]
        values[~real] = 0
        return values


class SentenceValues:
    """Holds one integer for every sentence."""

    def __init__(self, values: np.ndarray):
        self.values = values.astype(np.int32)
        self.spec = tf.TensorSpec([None], tf.int32)

    def batch(self, sentences: np.ndarray, places: np.ndarray, real: np.ndarray) -> np.ndarray:
        """int32 `[B]`."""
        return self.values[sentences]


def make_targets(
    targets: Sequence, lengths: np.ndarray, cut_lengths: np.ndarray
) -> TokenValues | SentenceValues:
    """Makes `TokenValues` if the targets are lists, else `SentenceValues`.

    Args:
        targets: a list of integers, or one integer, for each sentence.
        lengths: int `[N]`, tokens of each sentence.
        cut_lengths: int `[N]`, how many of them are used.

    Raises:
        ValueError: targets that are no integers, or below 0; not as many tags as tokens.
    """
    check_number(targets, lengths, "`targets`")
    are_labels = [np.ndim(target) == 0 for target in targets]
    if all(are_labels):
        labels = np.asarray(targets)
        _check_ids(labels)
        return SentenceValues(labels)
    if any(are_labels):
        number = are_labels.index(not are_labels[0])
        raise ValueError(
            "Targets must be one label for every sentence, or a list of tags for every sentence; "
            f"sentence 0 has {targets[0]!r}, sentence {number} has {targets[number]!r}."
        )
    tags = TokenValues(targets, lengths, cut_lengths, "`targets`")
    _check_ids(tags.flat)
    return tags


def check_number(values: Sequence, lengths: np.ndarray, name: str) -> None:
    """Raises a ValueError if the number of values is not the number of sentences."""
    if len(values) != len(lengths):
        raise ValueError(
            f"Every sentence needs its own; there are {len(lengths)} sentences and {len(values)} "
            f"in {name}."
        )


def _check_ids(ids: np.ndarray) -> None:
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(
            "Targets must be integers, the ids of tags or labels; got "
            f"{ids.reshape(-1).tolist()[0]!r}. Look names up first, for example with "
            "tfreps.text.TagSet."
        )
    if ids.min() < 0:
        raise ValueError(f"Targets must not be below 0; got {ids.min()}.")
