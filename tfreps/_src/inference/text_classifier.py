"""TextClassifier: a trained classifier for raw texts."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, overload

from tfreps._src.files.argument_checks import as_list
from tfreps._src.inference.outputs import ClassifiedText
from tfreps._src.inference.text_model import Tokenization
from tfreps._src.inference.whole_text_model import WholeTextModel
from tfreps._src.models.classifier import Classifier
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps._src.text.token_indexer import TokenIndexer

OUTPUTS = "labels", "probabilities"


class TextClassifier(WholeTextModel):
    """Trained classifier that labels raw texts.

    `tfreps.load` returns it for a run folder of `train-classifier`, and for a published BERT model
    with a label head. Raw text is tokenized as in training.

    Args:
        model: `Classifier`.
        indexer: The indexer used in training: `tfreps.text.TokenIndexer`, or `PieceIndexer` for a
            BERT model.
        tokens: str. Tokenization of raw text: a method of `tfreps.text.tokenize`, such as
            `"spaces"`, `"characters"` or `"words"`. Has no effect for a BERT model, whose tokenizer
            splits texts into pieces. Defaults to `"spaces"`.
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

    kind = "a classifier"

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

    @property
    def temperature(self) -> float:
        """Temperature of the model, by which it divides its scores."""
        return self.model.temperature

    @overload  # this overload overlaps the next one, because a str is an Iterable[str]
    def __call__(self, text: str) -> ClassifiedText: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Iterable[str | Sequence[str]]) -> list[ClassifiedText]: ...

    def __call__(self, text: Any) -> Any:
        """Returns the `ClassifiedText` of one raw text, or `classify(text)` for several texts."""
        return self.classify([text])[0] if isinstance(text, str) else self.classify(text)

    def classify(
        self, texts: Iterable[str | Sequence[str]], **options: Any
    ) -> list[ClassifiedText]:
        """Classifies texts.

        Args:
            texts: iterable. Raw texts, or lists of tokens as returned by `tokenize`. A list of
                tokens may be empty.
            **options: Options of `tfreps.data.SequenceBatches`.

        Returns:
            list of `ClassifiedText`, one per text.

        Raises:
            ValueError: If `texts` is a single string or an entry is not a text, if the option
                `vectors` is missing for a model that reads stored vectors or is given for any other
                model, or if `SequenceBatches` raises a ValueError.
            tf.errors.InvalidArgumentError: If a text, after truncation to `max_length`, has more
                tokens than the model has position embeddings.
        """
        found, texts = [], as_list("`texts`", texts)
        rows = self._rows(self._tokens_of(texts), OUTPUTS, options)
        for text, (label, probabilities) in zip(texts, rows, strict=True):
            shares = dict(zip(self.names, probabilities.tolist(), strict=True))
            raw = text if isinstance(text, str) else None
            found.append(ClassifiedText(self.names[int(label)], shares, raw))
        return found
