"""SentenceSlices: iterates over a corpus in slices of several thousand words."""

import weakref
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tfreps._src.data.lm.word_rows import LINE_END, WordRows
from tfreps._src.data.text_files import TextBlock, read_blocks

_POSITIONS_PER_SLICE = 1 << 13


class Corpus(NamedTuple):
    """Files of a corpus and the options for reading them, as described in `LMBatches`."""

    files: list[str]
    shuffle: bool
    seed: int
    passes: int | None
    skip_blank: bool
    block_bytes: int


class Position(NamedTuple):
    """Position where a slice begins.

    `pass_number` is the number of the pass, and `shard` is the rank of the file in the order of
    that pass. `block`, `offset` and `line` are the number, first byte and first line of the block
    in the file, and `sentence` is the rank of the slice's first sentence in the order of the block.
    Lines are counted from 1, and everything else from 0.
    """

    pass_number: int = 0
    shard: int = 0
    block: int = 0
    offset: int = 0
    line: int = 1
    sentence: int = 0


class Block:
    """A block of text as word rows (see `WordRows`), with `LINE_END` after each sentence."""

    def __init__(self, rows: np.ndarray):
        self.rows = rows
        self.ends = np.flatnonzero(rows == LINE_END)
        self.positions = np.diff(self.ends, prepend=-1)  # n + 1 for a sentence of n words

    def take(self, order: np.ndarray, reverse: bool) -> np.ndarray:
        """Returns the word rows of the sentences numbered `order`, each followed by `LINE_END`.

        If `reverse` is True, the words of each sentence are in reverse order.
        """
        positions = self.positions[order]
        before = np.cumsum(positions) - positions
        step = np.arange(positions.sum())
        if reverse:
            # In reverse, the first word is followed by the LINE_END of the previous sentence,
            # which equals its own. Before the first sentence, index -1 is the last LINE_END.
            return self.rows[np.repeat(self.ends[order] - 1 + before, positions) - step]
        first = self.ends[order] + 1 - positions
        return self.rows[np.repeat(first - before, positions) + step]


class SentenceSlices:
    """Slices of a corpus in one direction: consecutive sentences with about 8,000 positions.

    The two directions share `words` and `blocks`, a dict of the blocks in use by file and offset.
    Iteration starts at `position`.
    """

    def __init__(
        self,
        corpus: Corpus,
        words: WordRows,
        blocks: weakref.WeakValueDictionary[tuple[int, int], Block],
        reverse: bool,
        position: Position,
    ):
        self.corpus = corpus
        self.words = words
        self.blocks = blocks
        self.reverse = reverse
        self.position = position
        # Keeps the current block alive, because `blocks` has only weak references.
        self.block: Block | None = None

    def __iter__(self) -> Iterator[tuple[Position, np.ndarray]]:
        """Yields `(position, rows)` of each slice: a `Position` and the word rows, int32 `[n]`.

        `LINE_END` follows the words of each sentence.
        """
        pass_number, shard, number, offset, line, sentence = self.position
        passes = self.corpus.passes
        files = self.corpus.files
        found = self.position != Position()
        while passes is None or pass_number < passes:
            shards = self._permutation(len(files), pass_number)
            while shard < len(shards):
                file = int(shards[shard])
                for text in read_blocks(files[file], self.corpus.block_bytes, offset, line):
                    block, order = self._open(text, pass_number, file, number)
                    position = Position(pass_number, shard, number, text.offset, text.line)
                    for start, rows in self._slices(block, order, sentence):
                        yield position._replace(sentence=start), rows
                        found = True
                    number += 1
                    sentence = 0
                shard += 1
                number = 0
                offset = 0
                line = 1
            if not found:
                raise ValueError(
                    "`files` must contain at least one sentence; there is no sentence in "
                    f"{', '.join(files)}."
                )
            pass_number += 1
            shard = 0

    def _open(
        self, text: TextBlock, pass_number: int, file: int, number: int
    ) -> tuple[Block, np.ndarray]:
        """Returns the `Block` of a text, and the order in which its sentences are read.

        The attribute `block` is set to this block.
        """
        block = self.blocks.get((file, text.offset))
        if block is None:
            block = Block(self.words.encode(text.text))
            self.blocks[file, text.offset] = block
        self.block = block
        order = self._permutation(len(block.ends), pass_number, file, number)
        return block, order[block.positions[order] > 1] if self.corpus.skip_blank else order

    def _slices(
        self, block: Block, order: np.ndarray, sentence: int
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yields `(rank of the first sentence, word rows)` for each slice of the block."""
        ends = np.cumsum(block.positions[order])
        while sentence < len(order):
            before = ends[sentence - 1] if sentence else 0
            stop = int(np.searchsorted(ends, before + _POSITIONS_PER_SLICE)) + 1
            yield sentence, block.take(order[sentence:stop], self.reverse)
            sentence = stop

    def _permutation(self, size: int, *key: int) -> np.ndarray:
        """Returns the order of `size` items: int `[size]`.

        With shuffling, the order depends only on the seed, the direction and the key.
        """
        if not self.corpus.shuffle:
            return np.arange(size)
        seeds = np.random.SeedSequence([self.corpus.seed, int(self.reverse), *key])
        # Every NumPy version generates the same raw bits, but not the same `permutation`.
        return np.argsort(np.random.PCG64(seeds).random_raw(size), kind="stable")
