"""LMStream: one direction of a corpus as rows that continue from batch to batch."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tfreps._src.data.lm.sentence_slices import Block, Corpus, Position, SentenceSlices
from tfreps._src.data.lm.word_rows import LINE_END, WordRows, as_inputs, as_targets
from tfreps._src.text.vocabulary import Vocabulary


class LMStream:
    """Batches of one direction of a corpus, in the order of bilm-tf.

    A batch has B rows of T positions, and each row continues in the next batch where it stopped. A
    row that reaches the end of its sentence takes the next sentence of the corpus.

    A sentence of n words has n + 1 positions: inputs `<S> w1 .. wn` and targets `w1 .. wn </S>`,
    or, if `reverse` is `True`, inputs `</S> wn .. w1` and targets `wn .. w1 <S>`. One flat buffer
    contains the positions that have not been delivered yet: the rest of each row's sentence,
    followed by the current slice of the corpus. The two directions share `words` and
    `blocks`, a dict of the blocks in use by file and offset.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: Vocabulary,
        words: WordRows,
        blocks: weakref.WeakValueDictionary[tuple[int, int], Block],
        batch_size: int,
        unroll_steps: int,
        reverse: bool,
        snapshot: dict[str, Any] | None = None,
    ):
        self.vocabulary = vocabulary
        self.words = words
        self.unroll_steps = unroll_steps
        self.reverse = reverse
        snapshot = snapshot or {"position": Position(), "used": 0, "rows": [[]] * batch_size}
        self._position = Position(*snapshot["position"])
        self._source = SentenceSlices(corpus, words, blocks, reverse, self._position)
        self._slices = iter(self._source)
        self._restore_rows([[words.row(word) for word in row] for row in snapshot["rows"]])
        # Positions in the buffer at which the next sentence and the current slice begin.
        self._next = self._base = len(self._inputs)
        if snapshot["used"]:
            self._load()
            self._next += snapshot["used"]

    def next_batch(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns the word rows and target ids of a batch, both `[B, T]`, or `None` at the end."""
        # [B], positions taken from the row's current sentence.
        own = np.minimum(self._left, self.unroll_steps)
        need = self.unroll_steps - own
        first_slice = self._position
        bounds = self._pull(need.tolist())
        fresh = bounds[:-1]
        after = bounds[1:]
        stop = np.minimum(fresh + need, after)
        batch = self._gather(self._at, own, fresh, own + stop - fresh)
        self._at = np.where(need > 0, stop, self._at + self.unroll_steps)
        self._left = np.where(need > 0, after - stop, self._left - self.unroll_steps)
        if self._position != first_slice:
            self._drop_delivered()
        return batch

    def _pull(self, need: list[int]) -> np.ndarray:
        """Assigns the next sentences to the rows; `need` has the missing positions of each row.

        Returns the buffer positions at which the new sentences of each row begin, followed by the
        position at which the new sentences of the last row end: int `[B + 1]`.
        """
        bounds = [self._next]
        position = self._next
        sentence_end = self._sentence_end.item
        size = len(self._inputs)
        for positions in need:
            while position + positions > size and self._load():
                sentence_end = self._sentence_end.item
                size = len(self._inputs)
            if position + positions > size:
                position = size
            elif positions:
                position = sentence_end(position + positions - 1)
            bounds.append(position)
        self._next = position
        return np.array(bounds)

    def snapshot(self) -> Callable[[], dict[str, Any]]:
        """Returns a function that returns the current position as a JSON-serializable dict."""
        rows = self._inputs[self._leftover()]
        outside = np.unique(rows[rows >= self.words.first_unknown]).tolist()
        words = {row: self.words.word(row) for row in outside}
        position = list(self._position)
        used = self._next - self._base
        left = self._left

        def write_out() -> dict[str, Any]:
            plain = [words.get(row, row) for row in rows.tolist()]
            ends = np.cumsum(left).tolist()
            parts = [plain[end - n : end] for end, n in zip(ends, left.tolist(), strict=True)]
            return {"position": position, "used": int(used), "rows": parts}

        return write_out

    def arrays_of_rows(self) -> list[np.ndarray]:
        """Returns the arrays with row numbers of words, which the caller may renumber in place."""
        block: Block | None = self._source.block
        return [self._inputs] if block is None else [self._inputs, block.rows]

    def _gather(
        self, begin: np.ndarray, own: np.ndarray, fresh: np.ndarray, filled: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns the inputs and targets of a batch, both `[B, T]`, or `None` if it is empty.

        The arguments are int `[B]`. Each row begins with `own` positions, copied from position
        `begin` of the buffer: the rest of its sentence. New sentences, copied from position `fresh`
        of the buffer, follow up to a total of `filled` positions. The rest is padding.
        """
        if not filled.any():
            return None
        step = np.arange(self.unroll_steps)
        shift = np.where(step < own[:, None], begin[:, None], (fresh - own)[:, None])
        index = shift + step  # [B, T]
        if filled.min() == self.unroll_steps:
            return self._inputs[index], self._targets[index]
        real = step < filled[:, None]
        index = np.where(real, index, 0)
        return np.where(real, self._inputs[index], 0), np.where(real, self._targets[index], -1)

    def _load(self) -> bool:
        """Appends the next slice to the buffer. Returns `False` at the end of the last pass."""
        following = next(self._slices, None)
        if following is None:
            return False
        self._position, rows = following
        self._base = len(self._inputs)
        ends = np.flatnonzero(rows == LINE_END) + 1
        sentence_end = np.repeat(self._base + ends, np.diff(ends, prepend=0))
        self._sentence_end = np.append(self._sentence_end, sentence_end)
        inputs = as_inputs(rows, self.vocabulary, self.reverse)
        targets = as_targets(rows, self.vocabulary, self.reverse)
        self._inputs = np.append(self._inputs, inputs)
        self._targets = np.append(self._targets, targets)
        return True

    def _drop_delivered(self) -> None:
        """Removes delivered positions from the buffer."""
        index = self._leftover()
        shift = len(index) - self._next
        self._inputs = np.append(self._inputs[index], self._inputs[self._next :])
        self._targets = np.append(self._targets[index], self._targets[self._next :])
        ends = self._sentence_end[self._next :] + shift
        self._sentence_end = np.append(np.zeros_like(index), ends)
        self._at = np.cumsum(self._left) - self._left
        self._base += shift
        self._next += shift

    def _leftover(self) -> np.ndarray:
        """Returns the buffer positions of the rest of each row's sentence, row after row."""
        begins = np.cumsum(self._left) - self._left
        return np.repeat(self._at - begins, self._left) + np.arange(self._left.sum())

    def _restore_rows(self, rows: list[list[int]]) -> None:
        """Initializes the buffer with `rows`, the words that remain of each row's sentence."""
        self._left = np.array([len(row) for row in rows])  # [B], remaining positions of each row
        self._at = np.cumsum(self._left) - self._left  # [B], start of these positions in the buffer
        self._inputs = np.array([n for row in rows for n in row], np.int32)
        shifted = [n for row in rows if row for n in [*row[1:], LINE_END]]
        self._targets = as_targets(np.array(shifted, np.int32), self.vocabulary, self.reverse)
        self._sentence_end = np.zeros([len(shifted)], np.int64)
