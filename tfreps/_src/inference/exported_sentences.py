"""ExportedSentenceEncoder: computes the vectors of many sentences with an exported biLM."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

AT_ONCE = 1024  # number of sentences whose vectors of all layers are in memory together


class ExportedSentenceEncoder:
    """Computes the vectors of tokenized sentences with an exported biLM, as `SentenceEncoder` does.

    Args:
        exported: `ExportedBiLM`.
        layers: str, int or float array `[L + 1]`. Vectors to compute, as in `SentenceEncoder`.
        dtype: str. Data type of the vectors.
    """

    def __init__(self, exported: Any, layers: Any, dtype: str):
        self.exported = exported
        self.layers = layers
        self.dtype = dtype

    def cache_tokens(self, tokens: Sequence[str], progress: Callable[[int], Any]) -> None:
        """Does nothing, because an export cannot compute the vectors of single tokens."""

    def encode(self, sentences: Sequence[Sequence[str]]) -> Iterator[tuple[int, np.ndarray]]:
        """Yields the number of each sentence, in order, and its vectors."""
        for start in range(0, len(sentences), AT_ONCE):
            outputs = self.exported(sentences[start : start + AT_ONCE])
            for number, output in enumerate(outputs, start):
                yield number, self._chosen(output.vectors).astype(self.dtype)

    def _chosen(self, vectors: np.ndarray) -> np.ndarray:
        """Selects or sums the layers, `[L + 1, T, D]`."""
        if isinstance(self.layers, np.ndarray):
            return np.tensordot(self.layers, vectors, 1)  # [T, D]
        if self.layers == "average":
            return vectors.mean(axis=0)
        if self.layers == "all":
            return vectors
        return vectors[-1 if self.layers == "top" else self.layers]
