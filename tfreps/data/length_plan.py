"""LengthPlan: divides sentences into batches of similar length."""

from typing import NamedTuple

import numpy as np


class PlannedBatch(NamedTuple):
    """The sentences of one batch, int64 `[B]`, and the number of tokens per row with padding."""

    sentences: np.ndarray
    length: int


class LengthPlan:
    """Divides sentences of known lengths into batches of at most `batch_tokens` padded tokens.

    Sentences are sorted by length; from the shortest on, a batch takes sentences while
    rows x longest length stays within `batch_tokens` (a sentence that is longer makes a batch of
    its own). To shuffle, lengths are first rounded up to steps, within which the order is drawn
    anew in every epoch: to multiples of `length_multiple`, or of about a tenth of the length
    where that is 1. Rounding happens before the batches are cut, so that their number and their
    sizes are the same in every epoch; at the end their order is drawn.

    Args:
        lengths: int array, shape `[N]`.
        batch_tokens: int.
        batch_rows: int or None, most sentences of a batch.
        length_multiple: int. Above 1, batches are padded to multiples of it: few shapes, the same
            in every epoch.
        shuffle: bool. Otherwise batches come from short to long, and sentences of equal length
            in their own order.
        seed: int, not negative. The order depends on it and on the epoch alone.

    Attributes:
        num_batches: int, of every epoch.
    """

    def __init__(
        self,
        lengths: np.ndarray,
        batch_tokens: int,
        batch_rows: int | None,
        length_multiple: int,
        shuffle: bool,
        seed: int,
    ):
        self.lengths = lengths
        self.length_multiple = length_multiple
        self.shuffle = shuffle
        self.seed = seed
        self._steps = self._round(np.maximum(lengths, 1))  # [N]
        self._cuts = _cut(np.sort(self._steps), batch_tokens, batch_rows or len(lengths))

    @property
    def num_batches(self) -> int:
        return len(self._cuts) - 1

    def batches(self, epoch: int) -> list[PlannedBatch]:
        """Returns the batches of an epoch, in their order."""
        if not self.shuffle:
            order = np.argsort(self._steps, kind="stable")
            return [self._batch(order, batch) for batch in range(self.num_batches)]
        # Bits of the generator, and not its `permutation`, are the same in every NumPy.
        bits = np.random.PCG64(np.random.SeedSequence([self.seed, epoch]))
        order = np.lexsort((bits.random_raw(len(self.lengths)), self._steps))
        drawn = np.argsort(bits.random_raw(self.num_batches), kind="stable")
        return [self._batch(order, batch) for batch in drawn.tolist()]

    def _batch(self, order: np.ndarray, batch: int) -> PlannedBatch:
        sentences = order[self._cuts[batch] : self._cuts[batch + 1]]
        longest = self._steps if self.length_multiple > 1 else self.lengths
        return PlannedBatch(sentences, max(1, int(longest[sentences].max())))

    def _round(self, lengths: np.ndarray) -> np.ndarray:
        """Lengths rounded up to the steps within which sentences are exchanged."""
        if self.length_multiple > 1:
            return -(-lengths // self.length_multiple) * self.length_multiple
        if not self.shuffle:
            return lengths
        ends = [1]
        while ends[-1] < lengths.max():
            ends.append(max(ends[-1] + 1, ends[-1] * 11 // 10))
        ends = np.array(ends)
        return ends[np.searchsorted(ends, lengths)]


def _cut(lengths: np.ndarray, batch_tokens: int, batch_rows: int) -> list[int]:
    """Where batches begin and end among sorted lengths."""
    cuts = [0]
    for place, length in enumerate(lengths.tolist()):
        rows = place + 1 - cuts[-1]
        if rows > 1 and (rows * length > batch_tokens or rows > batch_rows):
            cuts.append(place)
    return [*cuts, len(lengths)]
