"""LengthPlan: groups sentences of similar length into batches."""

from typing import NamedTuple

import numpy as np


class PlannedBatch(NamedTuple):
    """Indices of the sentences of a batch, int64 `[B]`, and the length to which they are padded."""

    sentences: np.ndarray
    length: int


class LengthPlan:
    """Plan that divides sentences into batches of at most `batch_tokens` tokens, padding included.

    Sentences are sorted by length. Starting with the shortest, sentences are added to a batch as
    long as it has at most `batch_size` sentences and their number times the longest length is at
    most `batch_tokens`. A sentence longer than `batch_tokens` forms a batch of its own. If
    `batch_size` is `None`, the number of sentences is not limited. Lengths are first rounded up: to
    a multiple of `length_multiple` if it is greater than 1, otherwise in steps of about 10% if
    `shuffle` is `True`.

    If `shuffle` is `True`, sentences of equal rounded length are permuted in every epoch, and so
    are the batches. Because lengths are rounded before sentences are grouped, all epochs have the
    same number of batches with the same numbers of sentences.
    """

    def __init__(
        self,
        lengths: np.ndarray,
        batch_tokens: int,
        batch_size: int | None = None,
        length_multiple: int = 1,
        shuffle: bool = False,
        seed: int = 0,
    ):
        self.lengths = lengths
        self.length_multiple = length_multiple
        self.shuffle = shuffle
        self.seed = seed
        self._steps = self._round(np.maximum(lengths, 1))  # [N]
        self._cuts = _cut(np.sort(self._steps), batch_tokens, batch_size or len(lengths))

    @property
    def num_batches(self) -> int:
        return len(self._cuts) - 1

    def batches(self, epoch: int = 0) -> list[PlannedBatch]:
        """Returns the list of the batches of an epoch, in the order in which they are read."""
        if not self.shuffle:
            order = np.argsort(self._steps, kind="stable")
            return [self._batch(order, batch) for batch in range(self.num_batches)]
        # Every NumPy version generates the same raw bits, but not the same `permutation`.
        bits = np.random.PCG64(np.random.SeedSequence([self.seed, epoch]))
        order = np.lexsort((bits.random_raw(len(self.lengths)), self._steps))
        drawn = np.argsort(bits.random_raw(self.num_batches), kind="stable")
        return [self._batch(order, batch) for batch in drawn.tolist()]

    def _batch(self, order: np.ndarray, batch: int) -> PlannedBatch:
        sentences = order[self._cuts[batch] : self._cuts[batch + 1]]
        longest = self._steps if self.length_multiple > 1 else self.lengths
        return PlannedBatch(sentences, max(1, int(longest[sentences].max())))

    def _round(self, lengths: np.ndarray) -> np.ndarray:
        """Returns lengths rounded up; sentences of equal rounded length are shuffled together."""
        if self.length_multiple > 1:
            return -(-lengths // self.length_multiple) * self.length_multiple
        if not self.shuffle:
            return lengths
        ends = [1]
        while ends[-1] < lengths.max(initial=1):
            ends.append(max(ends[-1] + 1, ends[-1] * 11 // 10))
        ends = np.array(ends)
        return ends[np.searchsorted(ends, lengths)]


def _cut(lengths: np.ndarray, batch_tokens: int, batch_size: int) -> list[int]:
    """Returns the index in the sorted `lengths` at which each batch begins, and `len(lengths)`."""
    cuts = [0] if len(lengths) else []
    for position, length in enumerate(lengths.tolist()):
        rows = position + 1 - cuts[-1]
        if rows > 1 and (rows * length > batch_tokens or rows > batch_size):
            cuts.append(position)
    return [*cuts, len(lengths)]
