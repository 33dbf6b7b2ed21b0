"""TextEmbedder: a model that computes one vector for each raw text."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tfreps._src.convert.model_cards import write_model_card
from tfreps._src.convert.sentence_transformers import TextSettings, write_embedder
from tfreps._src.files.argument_checks import as_list, check_choice
from tfreps._src.inference.outputs import TextEmbeddings
from tfreps._src.inference.text_model import Tokenization
from tfreps._src.inference.whole_text_model import WholeTextModel
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps._src.text.bert.tokenizer_files import write_checkpoint_tokenizer
from tfreps._src.text.token_indexer import TokenIndexer


class TextEmbedder(WholeTextModel):
    """Model that computes one vector for each raw text.

    `tfreps.load` returns it for a folder of sentence-transformers.

    Args:
        model: `SentenceEmbedder`.
        indexer: `PieceIndexer` for a BERT model, otherwise `tfreps.text.TokenIndexer`.
        tokens: str. Tokenization of raw text: a method of `tfreps.text.tokenize`, such as
            `"spaces"`, `"characters"` or `"words"`. Has no effect for a BERT model, whose tokenizer
            splits texts into pieces. Defaults to `"spaces"`.
        max_length: int. Texts are truncated to this number of tokens (for a BERT model, pieces
            including `[CLS]` and `[SEP]`). If `None`, texts are not truncated. Defaults to `None`.
        prompts: dict from names to str. Texts that can be put in front of a text, such as
            `{"query": "query: "}`. If `None`, there are none. Defaults to `None`.
        default_prompt: str. Name of the prompt that is used if a call names none. If `None`, no
            prompt is used. Defaults to `None`.
        source: str or path-like. Path, name or address that the model was loaded from. Defaults to
            `None`.

    Attributes:
        vector_dim: int. Size of a vector.
        num_truncated: int. Number of texts truncated to `max_length` so far.

    Raises:
        ValueError: If `model` is not a `SentenceEmbedder`, or `default_prompt` is not the name of a
            prompt.

    Example:
    >>> from tfreps.models import TokenEmbedder
    >>> from tfreps.text import TokenIndexer
    >>> indexer = TokenIndexer.from_sentences([["a", "fine", "hotel"]])
    >>> embedder = TextEmbedder(
    ...     SentenceEmbedder(TokenEmbedder(indexer.vocabulary_size, 8)), indexer
    ... )
    >>> embedder(["a fine hotel", "a hotel"]).vectors.shape
    (2, 8)
    """

    kind = "a text embedder"

    def __init__(
        self,
        model: SentenceEmbedder,
        indexer: TokenIndexer | PieceIndexer,
        tokens: Tokenization = "spaces",
        max_length: int | None = None,
        prompts: Mapping[str, str] | None = None,
        default_prompt: str | None = None,
        source: str | os.PathLike[str] | None = None,
    ):
        if not isinstance(model, SentenceEmbedder):
            raise ValueError(f"`model` must be a SentenceEmbedder; got a {type(model).__name__}.")
        super().__init__(model, indexer, tokens, max_length, source)
        self.prompts: dict[str, str] = dict(prompts or {})
        check_choice([*self.prompts, None], default_prompt=default_prompt)
        self.default_prompt: str | None = default_prompt
        self.vector_dim: int = model.vector_dim

    def __call__(self, text: str | Iterable[str], prompt: str | None = None) -> TextEmbeddings:
        """Computes the vectors of one raw text or of several texts.

        Args:
            text: str, or iterable of str.
            prompt: str. Name of the prompt that is put in front of each text. If `None`, the prompt
                named `default_prompt` is used. Defaults to `None`.

        Returns:
            `TextEmbeddings` with vectors of shape `[D]` for a str, and `[N, D]` for several texts.
        """
        if isinstance(text, str):
            return TextEmbeddings(text, self.embed([text], prompt).vectors[0])
        return self.embed(text, prompt)

    def embed(self, texts: Iterable[str], prompt: str | None = None) -> TextEmbeddings:
        """Computes the vectors of raw texts. Texts longer than `max_length` are truncated.

        Args:
            texts: iterable of str. Raw texts, such as a list or an open file.
            prompt: str. Name of the prompt that is put in front of each text. If `None`, the prompt
                named `default_prompt` is used. Defaults to `None`.

        Returns:
            `TextEmbeddings` with the texts and their vectors, float32 `[N, D]`.

        Raises:
            ValueError: If `texts` is not an iterable of strings, or if there is no prompt named
                `prompt`.
            tf.errors.InvalidArgumentError: If a text, after truncation to `max_length`, has more
                tokens than the model has position embeddings.
        """
        texts = as_list("`texts`", texts)
        lists = [text for text in texts if not isinstance(text, str)]
        if lists:
            raise ValueError(f"`texts` must be raw texts, not lists of tokens; got {lists[0]!r}.")
        before = self.prompt_text(prompt)
        tokens = self.tokenize([before + text for text in texts])
        rows = self._rows(tokens, ("vectors",), {})
        vectors = np.array([vector for (vector,) in rows], "float32")
        return TextEmbeddings(texts, vectors.reshape(len(texts), self.vector_dim))

    def prompt_text(self, prompt: str | None = None) -> str:
        """Returns the text of the prompt with the name `prompt`.

        If `prompt` is `None`, the name is `default_prompt`. If both are `None`, returns `""`.

        Raises:
            ValueError: If there is no prompt with this name.
        """
        if prompt is not None and not self.prompts:
            raise ValueError(
                f"`prompt` must be None, because the model has no prompts; got {prompt!r}. Omit "
                "`prompt`, or put the text of the prompt in front of each text."
            )
        check_choice([*self.prompts, None], prompt=prompt)
        name = self.default_prompt if prompt is None else prompt
        return "" if name is None else self.prompts[name]

    def similarities(self, first: Iterable[str], second: Iterable[str]) -> np.ndarray:
        """Computes the cosine similarity of each text in `first` and each text in `second`.

        The prompt named `default_prompt` is put in front of each text. For other prompts, use
        `embed`.

        Args:
            first: iterable of N str.
            second: iterable of M str.

        Returns:
            float32 array of shape `[N, M]`, from -1 to 1. The cosine is 0 if a vector is zero.

        Raises:
            ValueError: If `first` or `second` is not an iterable of strings.
            tf.errors.InvalidArgumentError: If a text, after truncation to `max_length`, has more
                tokens than the model has position embeddings.

        Example:
        >>> from tfreps.models import TokenEmbedder
        >>> indexer = TokenIndexer.from_sentences([["a", "dog"]])
        >>> embedder = TextEmbedder(
        ...     SentenceEmbedder(TokenEmbedder(indexer.vocabulary_size, 8)), indexer
        ... )
        >>> embedder.similarities(["a dog"], ["dog a"]).round(3).tolist()
        [[1.0]]
        """
        return cosines(self.embed(first).vectors, self.embed(second).vectors)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes a folder for sentence-transformers, with the vocabulary and the prompts.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Raises:
            ValueError: If the model has no BERT tokenizer, or if `SentenceEmbedder.save_pretrained`
                raises a ValueError because sentence-transformers cannot represent the model.
        """
        if self.tokenizer is None:
            raise ValueError(
                "`save_pretrained` needs a model with a BERT tokenizer, because "
                "sentence-transformers reads no other models; this model has none. Use "
                "`save_to_preset` instead."
            )
        settings = TextSettings(self.max_length, False, self.prompts, self.default_prompt)
        write_embedder(self.model, folder, settings)
        write_checkpoint_tokenizer(self.tokenizer, folder)
        write_model_card(self.model, folder)

    def _reading(self) -> dict[str, Any]:
        found = {"prompts": self.prompts, "default_prompt": self.default_prompt}
        return {**super()._reading(), **{name: value for name, value in found.items() if value}}


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns the cosines of vectors `[N, D]` and `[M, D]`, float32 `[N, M]`.

    The cosine is 0 if one of the two vectors is zero.
    """
    return _of_length_one(first) @ _of_length_one(second).T


def _of_length_one(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
