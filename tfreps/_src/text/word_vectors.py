"""WordVectors: static word vectors from GloVe, word2vec and fastText files."""

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tfreps._src.files.argument_checks import check_not_negative
from tfreps._src.text.vector_files import FileFormat, VectorRow, vector_rows


class WordVectors(NamedTuple):
    """Static word vectors for a list of tokens.

    Attributes:
        matrix: float32 NumPy array, shape `[V, D]`. The vectors of the V tokens, of dimension D.
        found: bool NumPy array, shape `[V]`. `True` for tokens whose vector comes from the file.
        num_found: int. Number of tokens whose vector comes from the file.
    """

    matrix: np.ndarray
    found: np.ndarray

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        tokens: Iterable[str],
        *,
        file_format: FileFormat | None = None,
        lowercase_fallback: bool = False,
        missing_std: float = 0.0,
        seed: int = 0,
    ) -> "WordVectors":
        """Reads the vectors of the given tokens from a file.

        Supported files are GloVe text files, word2vec text and binary files, fastText `.vec`
        files, and NumPy arrays `[V, D]` (`name.npy`). The words of an array are in `name.txt`, one
        per line, in the column of strings of `name.parquet` (which requires pyarrow), or in the
        only file of these kinds in the folder.

        Memory holds only the matrix of the requested vectors, not the whole file. For a NumPy
        array, it also holds the list of words. Tokens in the file may contain spaces. If a token is
        repeated in the file, its first vector is used. Tokens in the file that are not UTF-8 are
        never matched. The header gives the dimension D; without a header, D is the most
        frequent count of numbers in the first rows. A row of a text file is skipped if it has no
        token, fewer than D numbers, or more than D + 1 numbers. (With D + 1 numbers, the first one
        is the token.) A single warning gives the number of skipped rows.

        Args:
            path: str or path-like object. Path of the file; `*.gz` files are decompressed.
            tokens: iterable of str. The V tokens in the order of the rows of the matrix, such as
                `vocabulary.tokens`.
            file_format: str or None. `"text"` or `"binary"`. If `None`, files named `*.bin` and
                `*.bin.gz` are read as binary and others as text. Has no effect on `*.npy` files.
                Defaults to `None`.
            lowercase_fallback: bool. Whether a token that is not in the file gets the vector of
                its lower-case form. Defaults to `False`.
            missing_std: float, non-negative. Standard deviation of the normal distribution from
                which the vectors of missing tokens are drawn. If 0, these vectors are zero.
                Defaults to 0.0.
            seed: int. Random seed for these vectors. Defaults to 0.

        Raises:
            ValueError: If the file is not valid, a requested row contains a value that is not a
                finite number, or an argument is not valid. If a row is at fault, the message gives
                the file and the number of the line or row.

        Reference: `distance.c` of word2vec, and the releases of GloVe and fastText.

        Example:
            >>> import pathlib
            >>> from tfreps.text import WordVectors
            >>> _ = pathlib.Path("vectors.txt").write_text("the 0.5 1\\ncat -1 2\\n")
            >>> vectors = WordVectors.read("vectors.txt", ["<UNK>", "cat", "The"])
            >>> vectors.matrix.tolist(), vectors.found.tolist()
            ([[0.0, 0.0], [-1.0, 2.0], [0.0, 0.0]], [False, True, False])
        """
        tokens = list(tokens)
        check_not_negative(missing_std=missing_std)
        exact, lower = _wanted(tokens, lowercase_fallback)
        matrix = None
        # 2 if the token was found, 1 if only its lower-case form was found, 0 otherwise.
        level = np.zeros(len(tokens), np.int8)
        for row in vector_rows(os.fspath(path), file_format):
            if matrix is None:  # allocated only after a whole row of this dimension has been read
                matrix = np.zeros([len(tokens), row.dimension], np.float32)  # [V, D]
            for positions, rank in ((exact.get(row.token), 2), (lower.get(row.token), 1)):
                positions = [position for position in positions or () if level[position] < rank]
                if positions:
                    vector = _numbers(row)
                    for position in positions:
                        matrix[position] = vector
                        level[position] = rank
        if matrix is None:
            raise ValueError(
                f"{path}: found no vectors. Expected a token and its vector on every line."
            )
        found = level > 0  # [V]
        if missing_std:
            shape = [int((~found).sum()), matrix.shape[1]]
            matrix[~found] = np.random.default_rng(seed).normal(0.0, missing_std, shape)
        return cls(matrix, found)

    @property
    def num_found(self) -> int:
        """Number of tokens whose vector comes from the file."""
        return int(self.found.sum())


def _wanted(
    tokens: list[str], lowercase_fallback: bool
) -> tuple[dict[bytes, list[int]], dict[bytes, list[int]]]:
    """Returns two dicts from tokens, as UTF-8 bytes, to the rows of the matrix that need them.

    The keys of the first dict are the tokens. If `lowercase_fallback` is `True`, the keys of the
    second dict are the lower-case forms of the tokens that have upper-case letters; otherwise, it
    is empty.
    """
    exact: dict[bytes, list[int]] = {}
    lower: dict[bytes, list[int]] = {}
    for position, token in enumerate(tokens):
        exact.setdefault(token.encode("utf-8", "surrogatepass"), []).append(position)
        if lowercase_fallback and token.lower() != token:
            lower.setdefault(token.lower().encode("utf-8", "surrogatepass"), []).append(position)
    return exact, lower


def _numbers(row: VectorRow) -> np.ndarray:
    """Returns the vector of a row, float32 `[D]`."""
    if row.binary:
        vector = np.frombuffer(row.numbers, "<f4")
    else:
        try:
            with np.errstate(over="ignore"):  # an overflow becomes infinity, which is checked below
                vector = np.array(row.numbers.split(), np.float64).astype(np.float32)
            if len(vector) != row.dimension:
                raise ValueError(f"got {len(vector)} numbers")
        except ValueError as error:
            raise ValueError(
                f"{row.place}: expected {row.dimension} numbers after the token "
                f"{row.token.decode('utf-8', 'replace')!r}; {error}. Correct or remove this row."
            ) from None
    if not np.isfinite(vector).all():
        raise ValueError(
            f"{row.place}: the vector of {row.token.decode('utf-8', 'replace')!r} must be finite; "
            f"got {vector[~np.isfinite(vector)][0]}. The file is damaged, or the training of the "
            "vectors diverged."
        )
    return vector
