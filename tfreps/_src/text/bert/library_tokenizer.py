"""LibraryTokenizer: base class of tokenizers that the package `tokenizers` applies in Python."""

import abc
import functools
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

    def tokenize(self, text: str) -> list[str]:
        return self.tokenize_all([text])[0]

    def tokenize_all(self, texts: Sequence[str]) -> list[list[str]]:
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
            # Equal pieces share one string.
            found += [[self.vocabulary[number] for number in row.ids] for row in block]
        return found
