"""SentenceVectors: reads vectors written by `tfreps embed`, for batches of sentences."""

import hashlib
import os
from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np

from tfreps._src.files.hdf5_files import find_array, naming_damage, open_hdf5, read_array

TOKEN_DIGESTS = "token_digests"
_OTHER_TEXT = "The file was computed from a different text. Write it again with `tfreps embed`."


class SentenceVectors:
    """Reader of the contextual vectors of numbered sentences in an HDF5 file.

    The file has one data set of shape `[L, T, D]` or `[T, D]` per sentence, named after the
    sentence's number, with L layers, T tokens and D features. `tfreps embed`, bilm-tf and AllenNLP
    write this format. `tfreps embed` also stores a digest of the tokens of each sentence, which is
    compared with the data; for files without digests, only the numbers of tokens are compared.

    `cut_lengths` are the numbers of tokens after truncation; the file may have vectors for all
    tokens of a sentence, or only for those that remain. `numbers` are the numbers of the sentences
    in the file. If `None`, the file must contain exactly the sentences of the data, in their order.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        tokens: Sequence[Sequence[str]],
        cut_lengths: Sequence[int] | np.ndarray,
        numbers: Sequence[int] | None = None,
    ):
        self.path = os.fspath(path)
        self.numbers = [str(n) for n in (range(len(tokens)) if numbers is None else numbers)]
        if len(self.numbers) != len(tokens):
            raise ValueError(
                f"`vector_numbers` must have one number per sentence for {self.path}; got "
                f"{len(tokens)} sentences and {len(self.numbers)} numbers."
            )
        self.cut_lengths = cut_lengths
        with self.open() as file:
            self.num_layers, self.dim = self._check(file, tokens)
            with naming_damage(self.path, "its list of arrays"):
                has_digests = TOKEN_DIGESTS in file
                num_sentences = sum(str(name).isdigit() for name in file)
            if numbers is None and num_sentences != len(tokens):
                raise ValueError(
                    f"{self.path}: expected vectors of {len(tokens)} sentences, as in the "
                    f"data; got vectors of {num_sentences} sentences. {_OTHER_TEXT}"
                )
            if has_digests:
                self._check_digests(file, tokens)

    def open(self) -> h5py.File:
        """Opens the file, and returns it for use as the first argument of `read`."""
        return open_hdf5(self.path, "an HDF5 file of vectors")

    def read(self, file: h5py.File, sentences: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """Returns the vectors of `sentences`, float32 `[B, L, T, D]`, with zeros on padding.

        `shape` is `(B, T)`.
        """
        batch = np.zeros([shape[0], self.num_layers, shape[1], self.dim], np.float32)
        for row, sentence in enumerate(sentences.tolist()):
            with naming_damage(self.path, f"array {self.numbers[sentence]}"):
                stored: Any = file[self.numbers[sentence]]
                vectors = stored[()]  # [L, n, D] or [n, D]
            length = self.cut_lengths[sentence]
            batch[row, :, :length] = vectors[..., :length, :]
        return batch

    def _check_digests(self, file: h5py.File, tokens: Sequence[Sequence[str]]) -> None:
        """Raises a ValueError unless the file was computed from the sentences in `tokens`."""
        digests = read_array(file, TOKEN_DIGESTS).ravel()
        for position, (number, own) in enumerate(zip(self.numbers, tokens, strict=True)):
            stored = own[: find_array(file, number).shape[-2]]
            if not int(number) < len(digests) or digests[int(number)] != token_digest(stored):
                raise ValueError(
                    f"{self.path}, sentence {number}: the vectors must belong to the tokens of "
                    f"sentence {position} of the data (counted from 0), "
                    f"{' '.join(own)[:60]!r}, but the file was computed from other tokens. "
                    f"{_OTHER_TEXT}"
                )

    def _check(self, file: h5py.File, tokens: Sequence[Sequence[str]]) -> tuple[int, int]:
        """Returns the number of layers and the width, after checking the shape of each array."""
        expected = None
        for position, number in enumerate(self.numbers):
            with naming_damage(self.path, "its list of arrays"):
                is_there = number in file
            if not is_there:
                raise ValueError(
                    f"{self.path}: expected vectors of sentence {number}, which belong to "
                    f"sentence {position} of the data (counted from 0); the file has none. The "
                    f"data has {len(tokens)} sentences. {_OTHER_TEXT}"
                )
            shape = find_array(file, number).shape
            if len(shape) not in (2, 3):
                raise ValueError(
                    f"{self.path}, sentence {number}: expected the shape [layers, tokens, "
                    f"features] or [tokens, features]; got {list(shape)}. Write the file with "
                    "`tfreps embed`."
                )
            length = len(tokens[position])
            if shape[-2] not in (length, self.cut_lengths[position]):
                raise ValueError(
                    f"{self.path}, sentence {number}: the file has vectors of {shape[-2]} tokens, "
                    f"but sentence {position} of the data (counted from 0) has {length} tokens. "
                    f"{_OTHER_TEXT}"
                )
            found = (1 if len(shape) == 2 else shape[0], shape[-1])
            if expected is None:
                expected = found
            elif found != expected:
                raise ValueError(
                    f"{self.path}, sentence {number}: expected {expected[0]} layers of "
                    f"{expected[1]} features, as in the first sentence; got {found[0]} layers of "
                    f"{found[1]}. Write the file again with `tfreps embed`."
                )
        return expected or (0, 0)


def token_digest(tokens: Sequence[str]) -> int:
    """Returns a 64-bit digest of the tokens of a sentence, which ignores case."""
    text = "\0".join(tokens).casefold()
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
