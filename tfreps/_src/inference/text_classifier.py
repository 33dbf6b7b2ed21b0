"""TextClassifier: a trained classifier for raw texts."""

import os
from collections.abc import Sequence
from typing import Any, overload

from tfreps._src.inference.attention import piece_attention
from tfreps._src.inference.outputs import ClassifiedText, TextAttention
from tfreps._src.inference.text_model import TextModel, Tokenization
from tfreps._src.models import Classifier
from tfreps._src.text.bert.piece_indexer import PieceIndexer, piece_texts
from tfreps._src.text.token_indexer import TokenIndexer

OUTPUTS = "labels", "probabilities"


class TextClassifier(TextModel):
    """Trained classifier that labels raw texts.

    `tfreps.load` returns it for a run folder of `train-classifier`, and for a published BERT model
    with a label head. Raw text is tokenized as in training.

    Args:
        model: `Classifier`.
        indexer: The indexer used in training: `tfreps.text.TokenIndexer`, or `PieceIndexer` for a
            BERT model.
        tokens: str. Tokenization of raw text: `"spaces"`, `"characters"` or `"words"`, which
            `tfreps.text.tokenize` defines. Has no effect for a BERT model, whose tokenizer splits
            texts into pieces. Defaults to `"spaces"`.
        max_length: int. Texts are truncated to this number of tokens (for a BERT model, pieces
            including `[CLS]` and `[SEP]`). If `None`, texts are not truncated. Defaults to `None`.
        source: str or path-like. Path, name or address that the model was loaded from. Defaults to
            `None`.

    Attributes:
        names: list of str. The labels in the order of their ids.
        num_truncated: int. Number of texts truncated to `max_length` so far.

    Raises:
        ValueError: If `model` is not a `Classifier`.

    Example:
    >>> from tfreps.models import TokenEmbedder
    >>> from tfreps.text import TokenIndexer
    >>> indexer = TokenIndexer.from_sentences([["a", "fine", "hotel"]])
    >>> embedder = TokenEmbedder(indexer.vocabulary_size, 8)
    >>> classifier = TextClassifier(Classifier(embedder, ["bad", "good"]), indexer)
    >>> list(classifier("a fine hotel").probabilities)
    ['bad', 'good']
    """

    is_tagger = False
    kind = "a classifier"
    scheme: None = None

    def __init__(
        self,
        model: Classifier,
        indexer: TokenIndexer | PieceIndexer,
        tokens: Tokenization = "spaces",
        max_length: int | None = None,
        source: str | os.PathLike[str] | None = None,
    ):
        if not isinstance(model, Classifier):
            raise ValueError(f"`model` must be a Classifier; got a {type(model).__name__}.")
        super().__init__(model, indexer, tokens, max_length, source)
        self.names: list[str] = model.labels

    @overload  # a str is a sequence of str, too
    def __call__(self, text: str) -> ClassifiedText: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Sequence[str | Sequence[str]]) -> list[ClassifiedText]: ...

    def __call__(self, text: Any) -> Any:
        """Returns the `ClassifiedText` of one raw text, or `classify(text)` for a list of texts."""
        return self.classify([text])[0] if isinstance(text, str) else self.classify(text)

    def classify(
        self, texts: Sequence[str | Sequence[str]], **options: Any
    ) -> list[ClassifiedText]:
        """Classifies texts.

        Args:
            texts: list. Raw texts, or lists of tokens as returned by `tokenize`, which may be
                empty.
            **options: Options of `tfreps.data.SequenceBatches`.

        Returns:
            list of `ClassifiedText`, one per text.

        Raises:
            ValueError: If `texts` is a single string, if the option `vectors` is missing for a
                model that reads stored vectors or is given for any other model, or if
                `SequenceBatches` raises a ValueError.
            tf.errors.InvalidArgumentError: If a text, after truncation to `max_length`, has more
                tokens than the model has learned positions.
        """
        found = []
        rows = self._rows(self._tokens_of(texts), OUTPUTS, options)
        for text, (label, probabilities) in zip(texts, rows, strict=True):
            shares = dict(zip(self.names, probabilities.tolist(), strict=True))
            raw = text if isinstance(text, str) else None
            found.append(ClassifiedText(self.names[int(label)], shares, raw))
        return found

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Tokenizes raw texts as in training.

        For a BERT model, the tokens are pieces, including `[CLS]` and `[SEP]`, and texts with more
        than `max_length` pieces are truncated and counted in `num_truncated`.

        Args:
            texts: list of str. Raw texts.

        Returns:
            list of lists of str. The tokens of each text.
        """
        if self.tokenizer is None:
            return super().tokenize(texts)
        tokens, num_truncated = piece_texts(texts, self.tokenizer, self.max_length)
        self.num_truncated: int = self.num_truncated + num_truncated
        return tokens

    def cut_notice(self) -> str:
        """Returns a message with the number of texts that were truncated."""
        counted = f"{self.num_truncated:,} texts"
        return f"{counted} were truncated to {self.max_length} tokens, as in training."

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """Returns the attention of the Transformer inside the model for a text.

        Args:
            text: str. Raw text, which is tokenized as in training. Without a second text, it is
                truncated to `max_length`.
            second: str. Second text, which a classifier on a BERT model reads as the second
                segment. Defaults to `None`.

        Returns:
            `TextAttention` with T tokens and float32 probabilities of shape `[L, H, T, T]` (layer,
            head, from, to). Each row sums to 1.

        Raises:
            ValueError: If the model has no attention, if a text has no tokens, if the pieces, after
                truncation, do not fit into the positions of a BERT model, or if a second text is
                given to a model other than BERT.
            tf.errors.InvalidArgumentError: If the text, after truncation, has more tokens than a
                model other than BERT has learned positions.
        """
        if self.tokenizer is None:
            return super().attention(text, second)
        return piece_attention(self.transformer, self.tokenizer, text, second, self.max_length)
