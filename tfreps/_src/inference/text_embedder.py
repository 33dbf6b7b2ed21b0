"""TextEmbedder: a model that computes one vector for each raw text."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tfreps._src.convert.model_cards import write_model_card
from tfreps._src.convert.sentence_transformers import TextSettings, write_embedder
from tfreps._src.convert.similarity_names import SIMILARITIES, Similarity
from tfreps._src.files.argument_checks import as_list, check_choice
from tfreps._src.inference.embedding_methods import EmbeddingMethods
from tfreps._src.inference.outputs import TextEmbeddings
from tfreps._src.inference.text_model import Tokenization
from tfreps._src.inference.whole_text_model import WholeTextModel
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps._src.text.bert.tokenizer_files import write_checkpoint_tokenizer
from tfreps._src.text.token_indexer import TokenIndexer


class TextEmbedder(EmbeddingMethods, WholeTextModel):
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
        similarity_fn_name: str. Similarity that the method `similarity` computes: `"cosine"`,
            `"dot"`, `"euclidean"` or `"manhattan"`. Defaults to `"cosine"`.
        source: str or path-like. Path, name or address that the model was loaded from. Defaults to
            `None`.

    Attributes:
        vector_dim: int. Size of a vector.
        num_truncated: int. Number of texts truncated to `max_length` so far.

    Raises:
        ValueError: If `model` is not a `SentenceEmbedder`, `default_prompt` is not the name of a
            prompt, or `similarity_fn_name` is not the name of a similarity.

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
        similarity_fn_name: Similarity = "cosine",
        source: str | os.PathLike[str] | None = None,
    ):
        if not isinstance(model, SentenceEmbedder):
            raise ValueError(f"`model` must be a SentenceEmbedder; got a {type(model).__name__}.")
        super().__init__(model, indexer, tokens, max_length, source)
        self.prompts: dict[str, str] = dict(prompts or {})
        check_choice([*self.prompts, None], default_prompt=default_prompt)
        self.default_prompt: str | None = default_prompt
        check_choice(SIMILARITIES, similarity_fn_name=similarity_fn_name)
        self.similarity_fn_name: Similarity = similarity_fn_name
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

    def _embed(self, texts: list[str], prompt: str | None) -> TextEmbeddings:
        return self.embed(texts, prompt)

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
        prompts = self.prompts, self.default_prompt
        settings = TextSettings(self.max_length, False, *prompts, self.similarity_fn_name)
        write_embedder(self.model, folder, settings)
        write_checkpoint_tokenizer(self.tokenizer, folder)
        write_model_card(self.model, folder)

    def _reading(self) -> dict[str, Any]:
        found: dict[str, Any] = {"prompts": self.prompts, "default_prompt": self.default_prompt}
        if self.similarity_fn_name != "cosine":
            found["similarity_fn_name"] = self.similarity_fn_name
        return {**super()._reading(), **{name: value for name, value in found.items() if value}}
