"""EmbeddingMethods: the methods that `TextEmbedder` and `ExportedEmbedder` have in common."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tfreps._src.convert.similarity_names import Similarity
from tfreps._src.files.argument_checks import as_list, check_integers, check_list
from tfreps._src.files.progress import make_progress
from tfreps._src.inference.outputs import TextEmbeddings
from tfreps._src.inference.text_pipe import TextPipe, blocks_of
from tfreps._src.inference.vector_search import most_similar, of_length_one, similarities

AT_ONCE = 1024  # texts that are embedded together
VECTORS_AT_ONCE = 8192  # vectors of a corpus that are compared together


class EmbeddingMethods(TextPipe):
    """Vectors of texts, their similarities, and a search, on top of the method `_embed`."""

    vector_dim: int
    similarity_fn_name: Similarity

    def _embed(self, texts: list[str], prompt: str | None) -> TextEmbeddings:
        raise NotImplementedError

    def encode(
        self,
        texts: str | Iterable[str],
        batch_size: int = AT_ONCE,
        normalize: bool = False,
        show_progress_bar: bool = False,
        prompt: str | None = None,
    ) -> np.ndarray:
        """Computes the vectors of texts, as `encode` of sentence-transformers does.

        Texts of similar length are processed together.

        Args:
            texts: str, or iterable of str.
            batch_size: int. Maximum number of texts in a batch. A batch also has a maximum number
                of tokens. Changes results only by rounding. Defaults to 1024.
            normalize: bool. Whether to scale each vector to length 1. Zero vectors stay zero.
                Defaults to `False`.
            show_progress_bar: bool. Whether to show the progress and the time left on standard
                error. Defaults to `False`.
            prompt: str. Name of the prompt that is put in front of each text. If `None`, the
                default prompt is used. Must be `None` for an export. Defaults to `None`.

        Returns:
            float32 array of shape `[D]` for a str, and `[N, D]` for N texts.

        Raises:
            ValueError: If an entry is not a string, if `batch_size` is not a positive integer, or
                if there is no prompt named `prompt`.

        Example:
        >>> from tfreps.inference import TextEmbedder
        >>> from tfreps.models import SentenceEmbedder, TokenEmbedder
        >>> from tfreps.text import TokenIndexer
        >>> indexer = TokenIndexer.from_sentences([["a", "dog", "barks"]])
        >>> model = SentenceEmbedder(TokenEmbedder(indexer.vocabulary_size, 8))
        >>> embedder = TextEmbedder(model, indexer)
        >>> embedder.encode("a dog").shape, embedder.encode(["a dog", "barks"]).shape
        ((8,), (2, 8))
        """
        check_integers(1, batch_size=batch_size)
        given = [texts] if isinstance(texts, str) else as_list("`texts`", texts)
        progress = make_progress("texts", len(given), shown=show_progress_bar)
        order = sorted(range(len(given)), key=lambda number: -len(given[number]))
        vectors = np.zeros([len(given), self.vector_dim], "float32")
        for numbers in blocks_of(order, batch_size):
            found = self._embed([given[number] for number in numbers], prompt).vectors
            vectors[numbers] = of_length_one(found) if normalize else found
            progress(len(numbers))
        return vectors[0] if isinstance(texts, str) else vectors

    def similarity(self, first: Any, second: Any) -> np.ndarray:
        """Computes the similarity of each text in `first` and each text in `second`.

        The similarity is the cosine, `a @ b / (|a| |b|)`, which is 0 if a vector is zero. If the
        folder of a model of sentence-transformers names another similarity, the attribute
        `similarity_fn_name` contains its name: `"dot"` for `a @ b`, `"euclidean"` for `-|a - b|`,
        or `"manhattan"` for `-sum |a - b|`.

        Args:
            first: iterable of N str, whose vectors `encode` computes, or an array of N vectors,
                `[N, D]`.
            second: iterable of M str, or an array of M vectors, `[M, D]`.

        Returns:
            float32 array of shape `[N, M]`.

        Raises:
            ValueError: If an argument is neither an iterable of strings nor an array of finite
                vectors of the same width.

        Example:
        >>> from tfreps.inference import TextEmbedder
        >>> from tfreps.models import SentenceEmbedder, TokenEmbedder
        >>> from tfreps.text import TokenIndexer
        >>> indexer = TokenIndexer.from_sentences([["a", "dog"]])
        >>> model = SentenceEmbedder(TokenEmbedder(indexer.vocabulary_size, 8))
        >>> embedder = TextEmbedder(model, indexer)
        >>> embedder.similarity(["a dog"], ["dog a"]).round(3).tolist()
        [[1.0]]
        """
        one, other = self._vectors_of("`first`", first), self._vectors_of("`second`", second)
        return similarities(one, other, self.similarity_fn_name)

    def search(
        self,
        queries: Any,
        corpus: Any,
        top_k: int = 10,
        query_prompt: str | None = None,
        corpus_prompt: str | None = None,
    ) -> list[list[tuple[int, float]]]:
        """Finds the texts of a corpus that are most similar to each query.

        The corpus is read and compared in blocks, so that memory does not grow with its size, also
        if it is a generator, or an array that `numpy.load` maps from a file. Every text of the
        corpus is compared. The similarity is that of `similarity`.

        Args:
            queries: iterable of N str, or an array of N vectors, `[N, D]`.
            corpus: iterable of str, or an array of vectors, `[M, D]`.
            top_k: int. Number of results for each query. Defaults to 10.
            query_prompt: str. Name of the prompt that is put in front of each text of `queries`. If
                `None`, the default prompt is used. Defaults to `None`.
            corpus_prompt: str. The same for the texts of `corpus`. Defaults to `None`.

        Returns:
            list with a list for each query, of `top_k` tuples (or M, if there are fewer texts):
            the position in the corpus, an int from 0, and the similarity, a float. The most similar
            texts come first; of equally similar texts, those earlier in the corpus.

        Raises:
            ValueError: If `queries` or `corpus` is neither an iterable of strings nor an array of
                finite vectors of the same width, if `top_k` is not a positive integer, or if there
                is no prompt of this name.

        Example:
        >>> from tfreps.inference import TextEmbedder
        >>> from tfreps.models import SentenceEmbedder, TokenEmbedder
        >>> from tfreps.text import TokenIndexer
        >>> indexer = TokenIndexer.from_sentences([["a", "dog", "barks"]])
        >>> model = SentenceEmbedder(TokenEmbedder(indexer.vocabulary_size, 8))
        >>> embedder = TextEmbedder(model, indexer)
        >>> [[(number, score)]] = embedder.search(["dog a"], ["barks", "a dog"], top_k=1)
        >>> number, round(score, 3)
        (1, 1.0)
        """
        check_integers(1, top_k=top_k)
        wanted = self._vectors_of("`queries`", queries, query_prompt)
        blocks = self._corpus_blocks(corpus, corpus_prompt)
        return most_similar(wanted, blocks, top_k, self.similarity_fn_name)

    def _vectors_of(self, name: str, given: Any, prompt: str | None = None) -> np.ndarray:
        """Returns the vectors of texts, or an array of vectors, `[N, D]`."""
        if _are_vectors(given):
            return _as_vectors(name, given)
        return self.encode(as_list(name, given), prompt=prompt)

    def _corpus_blocks(self, corpus: Any, prompt: str | None) -> Iterator[np.ndarray]:
        """Yields the vectors of a corpus in blocks, `[B, D]`."""
        if not _are_vectors(corpus):
            check_list("`corpus`", corpus)
            for block in blocks_of(corpus, AT_ONCE):
                yield self._embed(as_list("`corpus`", block), prompt).vectors
            return
        for start in range(0, len(corpus), VECTORS_AT_ONCE):
            yield _as_vectors("`corpus`", corpus[start : start + VECTORS_AT_ONCE])


def _are_vectors(given: Any) -> bool:
    """Returns True for an array or tensor of numbers, and False for texts."""
    return hasattr(given, "__array__") and getattr(given, "ndim", 0) > 0 and _kind(given) in "fiuV"


def _kind(given: Any) -> str:
    return np.asarray(given[:1]).dtype.kind


def _as_vectors(name: str, given: Any) -> np.ndarray:
    """Returns an array of vectors, `[N, D]`; raises a ValueError if it is not one."""
    vectors = np.asarray(given)
    if vectors.ndim != 2:
        raise ValueError(
            f"{name} must be an array of vectors, [N, D]; got the shape {list(vectors.shape)}."
        )
    vectors = vectors.astype("float32", copy=False)
    if not np.isfinite(vectors).all():
        raise ValueError(f"{name} must have finite numbers; got NaN or infinity.")
    return vectors
