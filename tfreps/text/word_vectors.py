"""WordVectors: reads the static vectors of a vocabulary from GloVe, word2vec and fastText files."""

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tfreps.text.vector_files import VectorRow, vector_rows


class WordVectors(NamedTuple):
    """The vectors of a list of tokens.

    `matrix` is float32 `[V, D]`, `found` bool `[V]`: which rows come from the file.
    """

    matrix: np.ndarray
    found: np.ndarray

    @classmethod
    def read(
        cls,
        path: str | os.PathLike,
        tokens: Iterable[str],
        *,
        file_format: str | None = None,
        lowercase_fallback: bool = False,
        missing_std: float = 0.0,
        seed: int = 0,
    ) -> "WordVectors":
        """Reads the vectors of some tokens and skips all others.

        The file is GloVe's text, word2vec's text or binary file, or fastText's `.vec`; called
        `*.gz`, it is unpacked on the way. Memory is that of the matrix, whatever the size of the
        file. Tokens in the file may hold spaces. If one comes twice, its first row counts, and
        bytes that are no UTF-8 match nothing.

        Args:
            path: the file.
            tokens: the V tokens in the order of the rows, such as `vocabulary.tokens`.
            file_format: `"text"` or `"binary"`; None to go by the name, where `*.bin` and
                `*.bin.gz` are binary.
            lowercase_fallback: whether a token that the file does not have takes the vector of
                its lower-case form.
            missing_std: float. Rows that are not found are zero, or, above 0, drawn from a normal
                distribution with this standard deviation.
            seed: int. Seed of those draws.

        Returns:
            WordVectors.

        Raises:
            ValueError: naming the file and the line: rows of different lengths, a header that
                promises another number or dimension or too large ones, what is no number or not
                finite in a row that is wanted, an empty or unreadable file, a binary file that
                is cut off, damaged gzip.

        Reference: word2vec's `distance.c`, GloVe's and fastText's releases.

        Example:
            >>> import pathlib
            >>> from tfreps.text import WordVectors
            >>> _ = pathlib.Path("vectors.txt").write_text("the 0.5 1\\ncat -1 2\\n")
            >>> vectors = WordVectors.read("vectors.txt", ["<UNK>", "cat", "The"])
            >>> vectors.matrix.tolist(), vectors.found.tolist()
            ([[0.0, 0.0], [-1.0, 2.0], [0.0, 0.0]], [False, True, False])
        """
        tokens = list(tokens)
        if missing_std < 0:
            raise ValueError(f"`missing_std` must be at least 0; got {missing_std}.")
        exact, lower = _wanted(tokens, lowercase_fallback)
        # 2: found, 1: its lower case found
        matrix = None
        level = np.zeros(len(tokens), np.int8)
        for row in vector_rows(os.fspath(path), file_format):
            if matrix is None:  # only now is a whole row of this dimension there
                matrix = np.zeros([len(tokens), row.dimension], np.float32)  # [V, D]
            for places, rank in ((exact.get(row.token), 2), (lower.get(row.token), 1)):
                places = [place for place in places or () if level[place] < rank]
                if places:
                    matrix[places] = _numbers(row)
                    level[places] = rank
        if matrix is None:
            raise ValueError(f"{path}: no vectors. Expected a token and its vector on every line.")
        found = level > 0  # [V]
        if missing_std:
            shape = [int((~found).sum()), matrix.shape[1]]
            matrix[~found] = np.random.default_rng(seed).normal(0.0, missing_std, shape)
        return cls(matrix, found)

    @property
    def num_found(self) -> int:
        """Number of the tokens that the file has a vector for."""
        return int(self.found.sum())


def _wanted(tokens: list[str], lowercase_fallback: bool):
    """Bytes of a token -> places in the list, for the tokens and for their lower-case forms."""
    exact: dict[bytes, list[int]] = {}
    lower: dict[bytes, list[int]] = {}
    for place, token in enumerate(tokens):
        exact.setdefault(token.encode("utf-8", "surrogatepass"), []).append(place)
        if lowercase_fallback and token.lower() != token:
            lower.setdefault(token.lower().encode("utf-8", "surrogatepass"), []).append(place)
    return exact, lower


def _numbers(row: VectorRow) -> np.ndarray:
    """The vector of a row, float32 `[D]`."""
    if row.binary:
        vector = np.frombuffer(row.numbers, "<f4")
    else:
        try:
            with np.errstate(over="ignore"):  # becomes infinite, which is looked for below
                vector = np.array(row.numbers.split(), np.float64).astype(np.float32)
            if len(vector) != row.dimension:
                raise ValueError(f"there are {len(vector)}")
        except ValueError as error:
            raise ValueError(
                f"{row.place}: expected {row.dimension} numbers after the token "
                f"{row.token.decode('utf-8', 'replace')!r}; {error}."
            ) from None
    if not np.isfinite(vector).all():
        raise ValueError(
            f"{row.place}: the vector of {row.token.decode('utf-8', 'replace')!r} is not finite "
            f"({vector[~np.isfinite(vector)][0]}). The file is damaged, or was trained so badly "
            "that it is of no use."
        )
    return vector
