"""TextPipe: base class with the method `pipe`, which applies a model to any number of texts."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from tfreps._src.files.argument_checks import check_integers, check_list
from tfreps._src.inference.outputs import TextEmbeddings


class TextPipe:
    """Base class of the objects that `tfreps.load` returns."""

    def pipe(self, texts: Iterable[Any], batch_size: int = 256, **options: Any) -> Iterator[Any]:
        """Applies the model to any number of texts, in bounded memory.

        A call of the model itself reads all texts first, and returns all results together. `pipe`
        reads `batch_size` texts, yields their results, and then reads the next texts. It therefore
        also accepts a generator that never ends.

        Args:
            texts: iterable. Texts as in a call of the model, such as a generator or an open file.
            batch_size: int. Number of texts that are read and processed together, those of similar
                length in the same batch. Defaults to 256.
            **options: Further arguments of a call of the model, such as `prompt` of a
                `TextEmbedder`.

        Yields:
            One result per text, in the order of the texts: the result that a call of the model
            returns for this text alone, up to rounding.

        Raises:
            ValueError: If `texts` is a single string or not iterable, if `batch_size` is not a
                positive integer, or if a call of the model raises a ValueError.

        Example:
        >>> import tfreps
        >>> elmo = tfreps.models.BiLM(filters=[[1, 8]], units=8, projection_dim=4)
        >>> lines = (line for line in ["I have a dog", "", "That"])
        >>> for found in tfreps.inference.TextBiLM(elmo).pipe(lines):
        ...     print(found)
        TextVectors(tokens=['I', 'have', 'a', 'dog'], vectors=float32 [3, 4, 8])
        TextVectors(tokens=[], vectors=float32 [3, 0, 8])
        TextVectors(tokens=['That'], vectors=float32 [3, 1, 8])
        """
        check_list("`texts`", texts)
        check_integers(1, batch_size=batch_size)
        return self._piped(texts, batch_size, options)

    def _piped(self, texts, batch_size, options):
        model: Any = self
        for block in blocks_of(texts, batch_size):
            found = model(block, **options)
            yield from map(TextEmbeddings, *found) if isinstance(found, TextEmbeddings) else found


def blocks_of(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yields consecutive items in lists of `size`; the last list may be shorter."""
    rest = iter(items)
    while block := list(itertools.islice(rest, size)):
        yield block
