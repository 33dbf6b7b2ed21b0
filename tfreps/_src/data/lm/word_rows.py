"""WordRows: assigns row numbers to words, including those outside the vocabulary."""

import numpy as np

from tfreps._src.text.char_ids import token_rows
from tfreps._src.text.vocabulary import Vocabulary

LINE_END = -1
_PIECE = 1 << 16  # minimum number of characters that `encode` splits into words at once
_LINE_END_WORD = "\0"  # no text contains this character, because `decode_utf8` rejects it


class WordRows(dict[str, int]):
    """Mapping from words to their row numbers in a table of character ids.

    The tokens of the vocabulary have the rows 0 to V - 1. Any other word is assigned the next free
    row when it is first looked up. `forget` drops words that are no longer needed, so that the
    table does not grow with the corpus.
    """

    def __init__(self, vocabulary: Vocabulary, max_characters: int = 50):
        super().__init__(zip(vocabulary.tokens, range(len(vocabulary)), strict=True))
        self[_LINE_END_WORD] = LINE_END
        self.first_unknown = len(vocabulary)
        self.unknown: list[str] = []
        self._table = np.zeros([0, max_characters], np.int32)  # [at least `_made`, C]
        self._made = 0

    def __missing__(self, word: str) -> int:
        row = self[word] = self.first_unknown + len(self.unknown)
        self.unknown.append(word)
        return row

    def encode(self, text: str) -> np.ndarray:
        """Returns the rows of the words of whole lines, with `LINE_END` after each line."""
        pieces = [np.zeros([0], np.int32)]
        start = 0
        while start < len(text):  # splits the text into pieces that fit into the processor's cache
            stop = text.index("\n", min(start + _PIECE, len(text) - 1)) + 1
            words = text[start:stop].replace("\n", f" {_LINE_END_WORD} ").split()
            pieces.append(np.fromiter(map(self.__getitem__, words), np.int32, len(words)))
            start = stop
        return np.concatenate(pieces)

    def word(self, row: int) -> int | str:
        """Returns what identifies the word of a row when a position in the data is saved.

        The result is `row` itself for a vocabulary token, and the word as a str for any other word.
        """
        return row if row < self.first_unknown else self.unknown[row - self.first_unknown]

    def row(self, word: int | str) -> int:
        """Returns the row of a word, given in the form that the method `word` returns."""
        return self[word] if isinstance(word, str) else word

    def characters(self, unknown: np.ndarray) -> np.ndarray:
        """Returns the character ids `[N, C]` of words outside the vocabulary."""
        if self._made < len(self.unknown):
            self._make_characters()
        return self._table[unknown]

    def forget(self, keep: np.ndarray) -> np.ndarray:
        """Drops the words outside the vocabulary that are not in the rows `keep`, a sorted array.

        Returns int32 `[U]`: entry `i` is the new row of the word whose row was `V + i`, or 0 if the
        word was dropped.
        """
        for word in self.unknown:
            del self[word]
        kept = [self.unknown[i] for i in (keep - self.first_unknown).tolist()]
        new_rows = np.zeros([len(self.unknown)], np.int32)
        self.unknown = []
        self._made = 0
        self._table = self._table[:0]
        new_rows[keep - self.first_unknown] = [self[word] for word in kept]
        return new_rows

    def _make_characters(self) -> None:
        fresh = token_rows(self.unknown[self._made :], self._table.shape[1])
        # The table doubles in size, so that its rows are rarely copied.
        if len(self.unknown) > len(self._table):
            spare = np.zeros([2 * len(self.unknown), self._table.shape[1]], np.int32)
            spare[: self._made] = self._table[: self._made]
            self._table = spare
        self._table[self._made : len(self.unknown)] = fresh
        self._made = len(self.unknown)


def as_inputs(rows: np.ndarray, vocabulary: Vocabulary, reverse: bool) -> np.ndarray:
    """Returns the inputs of sentences `w1 .. wn LINE_END`; each starts with `<S>`.

    With `reverse`, the words must be in reverse order, and each sentence starts with `</S>`.
    """
    inputs = np.roll(rows, 1)
    inputs[inputs == LINE_END] = vocabulary.end_id if reverse else vocabulary.start_id
    return inputs


def as_targets(rows: np.ndarray, vocabulary: Vocabulary, reverse: bool) -> np.ndarray:
    """Returns the target ids of sentences `w1 .. wn LINE_END`; each ends with `</S>`.

    With `reverse`, the words must be in reverse order, and each sentence ends with `<S>`.
    """
    targets = np.where(rows < len(vocabulary), rows, vocabulary.unknown_id)
    targets[rows == LINE_END] = vocabulary.start_id if reverse else vocabulary.end_id
    return targets


def number_by_first_use(rows: np.ndarray, first_unknown: int) -> np.ndarray:
    """Renumbers the rows of words outside the vocabulary, in place, by their first occurrence.

    With V = `first_unknown`, returns the previous rows, minus V, of the words whose new rows are V,
    V + 1, ...
    """
    flat = rows.reshape(-1)
    positions = np.flatnonzero(flat >= first_unknown)
    found, first, inverse = np.unique(flat[positions], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    flat[positions] = first_unknown + rank[inverse]
    return found[order] - first_unknown
