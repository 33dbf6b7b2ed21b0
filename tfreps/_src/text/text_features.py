"""TextFeatures: a function from raw texts to the features that a model reads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

Tokenize = Callable[[list[str]], list[list[str]]]


class TextFeatures:
    """Function from raw texts to the features that a model reads, also for `tf.data.Dataset.map`.

    Python splits the texts into tokens, in graphs too, so that all tokenizers can be used.

    Args:
        tokenize: function from a list of N str to the list of the tokens of each text.
        indexer: `tfreps.text.TokenIndexer` or `PieceIndexer`, which converts tokens to features.
    """

    def __init__(self, tokenize: Tokenize, indexer: Any):
        self.tokenize: Tokenize = tokenize
        self.indexer: Any = indexer

    def __call__(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the features of texts, str `[B]`, padded to the longest text."""
        tokens = tf.numpy_function(self._padded, [texts], tf.string)
        return self.indexer(tf.ensure_shape(tokens, [None, None]))  # [B, T]

    def _padded(self, texts: np.ndarray) -> np.ndarray:
        """Returns the tokens of each text, an array of str `[B, T]` with T of at least 1."""
        rows = self.tokenize([text.decode("utf-8", "replace") for text in texts.tolist()])
        width = max([1, *map(len, rows)])
        padded = [row + [""] * (width - len(row)) for row in rows]
        return np.array(padded, object).reshape([len(rows), width])
