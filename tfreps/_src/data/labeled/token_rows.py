"""TokenRows: computes the features of each distinct token once for all batches."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

# Maps tokens, a str tensor `[B, T]`, to a dict of tensors `[B, T, ...]`.
Indexer = Callable[[tf.Tensor], Mapping[str, tf.Tensor]]
_TOKENS_AT_A_TIME = 1 << 16


class TokenRows:
    """Features of every distinct token, computed once and gathered for each batch.

    The features of a token must not depend on other tokens, which holds for
    `tfreps.text.TokenIndexer`. The attribute `lengths`, int64 `[N]`, has the number of tokens of
    each sentence after truncation to `max_length`.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        indexer: Indexer,
        max_length: int | None,
    ):
        rows: dict[str, int] = {"": 0}  # token -> its row; row 0 is padding
        flat: list[int] = []
        lengths = []
        for number, sentence in enumerate(sentences):
            if isinstance(sentence, str | bytes):
                raise ValueError(
                    f"Every sentence must be a list of tokens; sentence {number} (counted from "
                    f"0) is the string {sentence[:40]!r}. Tokenize the string first, for "
                    "example with tfreps.text.tokenize."
                )
            cut = sentence[:max_length]
            own = [rows.setdefault(token, len(rows)) for token in cut]
            if 0 in own:
                raise ValueError(
                    f"Sentence {number} (counted from 0): token {own.index(0)} is the empty "
                    "string, which is reserved for padding. Remove this token."
                )
            flat += own
            lengths.append(len(own))
        self.lengths = np.array(lengths, np.int64)
        self._starts = np.cumsum(self.lengths) - self.lengths
        self._rows = np.array(flat or [0], np.int32)
        self._tables = _tables(list(rows), indexer)
        self.specs = {
            name: tf.TensorSpec([None, None, *table.shape[1:]], table.dtype)
            for name, table in self._tables.items()
        }

    def batch(
        self, sentences: np.ndarray, length: int, gaps: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """Returns the features of sentences by name, `[B, T, ...]` with T = `length`.

        The method `positions` describes the argument `gaps`.
        """
        positions, real = self.positions(sentences, length, gaps)
        rows = np.where(real, self._rows[positions], 0)  # [B, T]
        return {name: table[rows] for name, table in self._tables.items()}

    def positions(
        self, sentences: np.ndarray, length: int, gaps: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the positions of a batch among all tokens, and their mask, both `[B, T]`.

        `gaps`, int64 `[B, 2]`, has the position of the first token to remove from each sentence,
        and the number of tokens to remove.
        """
        position = np.arange(length)  # [T]
        if gaps is not None:
            first = gaps[:, :1]
            size = gaps[:, 1:]
            position = position + np.where(position >= first, size, 0)  # [B, T]
        real = position < self.lengths[sentences][:, None]
        positions = self._starts[sentences][:, None] + position
        return np.minimum(positions, len(self._rows) - 1), real


def _tables(tokens: list[str], indexer: Indexer) -> dict[str, np.ndarray]:
    """Returns the features of the U distinct tokens as a dict of arrays `[U, ...]`."""
    if not all(isinstance(token, str) for token in tokens):
        wrong = next(token for token in tokens if not isinstance(token, str))
        raise ValueError(
            f"The tokens of a sentence must be strings; got {wrong!r} of type "
            f"{type(wrong).__name__}. Convert the token to a string."
        )
    parts = []
    for start in range(0, len(tokens), _TOKENS_AT_A_TIME):
        piece = tf.constant([tokens[start : start + _TOKENS_AT_A_TIME]])  # [1, U]
        parts.append({name: value[0].numpy() for name, value in indexer(piece).items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
