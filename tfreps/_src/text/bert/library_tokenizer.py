"""LibraryTokenizer: base class of tokenizers that the package `tokenizers` applies in Python."""

import abc
import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer

if TYPE_CHECKING:
    import tokenizers

_AT_A_TIME = 1024  # texts whose results `tokenizers` keeps in memory


class LibraryTokenizer(PieceTokenizer):
    """Base class of tokenizers that split texts with the package `tokenizers`.

    Subclasses define `_make_library`. `PieceTokenizer` describes the other methods.
    """

    @abc.abstractmethod
    def _make_library(self) -> "tokenizers.Tokenizer":
        """Creates the `tokenizers.Tokenizer` whose ids are the positions in the vocabulary."""

    @functools.cached_property
    def _library(self) -> "tokenizers.Tokenizer":
        return self._make_library()

    def is_special(self, token: str) -> bool:
        return super().is_special(token) or bool(re.fullmatch(r"\[unused\d+\]", token))

    def tokenize(self, text: str) -> list[str]:
        return [self.vocabulary[number] for number in self.text_to_ids(text)]

    def text_to_ids(self, text: str) -> list[int]:
        return LibraryTokenizer.texts_to_ids(self, [text])[0]

    def texts_to_ids(self, texts: Sequence[str]) -> list[list[int]]:
        found = []
        for start in range(0, len(texts), _AT_A_TIME):
            block = list(texts[start : start + _AT_A_TIME])
            try:
                block = self._library.encode_batch_fast(block, add_special_tokens=False)
            except TypeError:  # a text contains a lone surrogate, which UTF-8 cannot represent
                block = [text.encode("utf-8", "surrogatepass") for text in block]
                block = [text.decode("utf-8", "replace") for text in block]
                block = self._library.encode_batch_fast(block, add_special_tokens=False)
            except Exception as error:
                raise ValueError(
                    f"{self.source}: the package tokenizers cannot split a text: {error}. Use the "
                    "original file."
                ) from None
            found += [row.ids for row in block]
        return found
