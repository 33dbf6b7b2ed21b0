"""Converts NumPy batches of words to a `tf.data.Dataset` of named tensors."""

import itertools
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import tensorflow as tf

from tfreps._src.data.element_types import Dataset
from tfreps._src.files.argument_checks import check_integers
from tfreps._src.text.vocabulary import Vocabulary

Characters = Literal["ids", "table"]  # form of the character ids; see `LMBatches`
# Batch as a tuple (word_rows, targets, unknown_characters); see `to_dataset`.
Batch = tuple[np.ndarray, np.ndarray, np.ndarray]
_GROUP = 8  # number of batches passed from Python to TensorFlow at once; each transfer costs 0.4 ms


def to_dataset(
    make_batches: Callable[[], Iterator[Batch]],
    vocabulary: Vocabulary,
    shape: tuple[int | None, int | None],
    bidirectional: bool,
    characters: Characters | None,
    max_characters: int,
) -> Dataset:
    """Converts NumPy batches to a `tf.data.Dataset` of the elements described in `LMBatches`.

    `make_batches` is called once per iteration and returns an iterator over tuples `(word_rows,
    targets, unknown_characters)`. `word_rows`, int32 `[directions, B, T]`, contains the vocabulary
    id of each input word, or V + k for the k-th unknown word of the batch, counted from 0, where V
    is the size of the vocabulary.
    `targets`, of the same shape, contains vocabulary ids, or -1 on padding. `unknown_characters`,
    int32 `[U, C]`, contains the character ids of the U unknown words. `shape` is `(B, T)`, with
    `None` for a varying size.
    """
    arrays = tf.TensorSpec([None, 1 + bidirectional, *shape], tf.int32)
    unknown = tf.TensorSpec([None, max_characters], tf.int32)
    splits = tf.TensorSpec([None], tf.int64)
    groups = tf.data.Dataset.from_generator(
        lambda: map(_join, _groups(make_batches())),
        output_signature=(arrays, arrays, unknown, splits),
    )
    complete = _completion(vocabulary, bidirectional, characters, max_characters)

    def batches(
        rows: tf.Tensor, targets: tf.Tensor, unknown: tf.Tensor, splits: tf.Tensor
    ) -> Dataset:
        numbers = tf.data.Dataset.range(tf.shape(rows, tf.int64)[0])
        return numbers.map(
            lambda n: complete(rows[n], targets[n], unknown[splits[n] : splits[n + 1]])
        )

    return groups.flat_map(batches).prefetch(4)  # pyright: ignore[reportArgumentType]


def check_characters(characters: Characters | None, max_characters: int) -> None:
    """Raises a ValueError if the form or number of character ids is not supported."""
    if characters not in ("ids", "table", None):
        raise ValueError(f'`characters` must be "ids", "table" or None; got {characters!r}.')
    check_integers(3, max_characters=max_characters)


def _groups(batches: Iterator[Batch]) -> Iterator[list[Batch]]:
    for _, equal in itertools.groupby(batches, lambda batch: batch[0].shape):
        while group := list(itertools.islice(equal, _GROUP)):
            yield group


def _join(group: list[Batch]) -> tuple[np.ndarray, ...]:
    rows, targets, unknown = zip(*group, strict=True)
    splits = np.cumsum([0, *map(len, unknown)])
    return np.stack(rows), np.stack(targets), np.concatenate(unknown), splits


def _completion(
    vocabulary: Vocabulary,
    bidirectional: bool,
    characters: Characters | None,
    max_characters: int,
) -> Callable[[tf.Tensor, tf.Tensor, tf.Tensor], dict[str, tf.Tensor]]:
    """Returns the function that converts the arrays of a batch to a dict of tensors."""
    size = len(vocabulary)
    unknown_id = vocabulary.unknown_id
    table = None
    if characters == "ids":
        table = tf.constant(vocabulary.character_table(max_characters))  # [V, C]

    def complete(rows: tf.Tensor, targets: tf.Tensor, unknown: tf.Tensor) -> dict[str, tf.Tensor]:
        element = {}
        for direction, suffix in enumerate(("", "_reverse")[: 1 + bidirectional]):
            row = rows[direction]  # [B, T]
            target = targets[direction]  # [B, T]
            element["token_ids" + suffix] = tf.where(row < size, row, unknown_id)
            element["next_token_id" + suffix] = tf.maximum(target, 0)
            element["mask" + suffix] = target >= 0
            if characters == "table":
                element["character_rows" + suffix] = row
            elif characters == "ids":
                own = tf.pad(unknown, [[1, 0], [0, 0]])  # [1 + U, C]
                own = tf.gather(own, tf.maximum(row - size + 1, 0))  # [B, T, C]
                known = tf.gather(table, tf.minimum(row, size - 1))
                either = tf.where((row < size)[..., None], known, own)  # pyright: ignore[reportArgumentType]
                real = (target >= 0)[..., None]  # pyright: ignore[reportArgumentType]
                element["tokens_characters" + suffix] = tf.where(real, either, 0)
        if characters == "table":
            element["unknown_characters"] = unknown
        return element

    return complete
