"""TextModel: base class of `TextTagger`, `TextClassifier` and `TextEmbedder`."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tfreps._src.data.labeled.sequence_batches import SequenceBatches
from tfreps._src.files.argument_checks import as_list
from tfreps._src.inference.loaded_model import LoadedModel, trace_once
from tfreps._src.inference.outputs import TextAttention
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.hmm import HMMTagger
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.models.tagger import Tagger
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer
from tfreps._src.text.text_features import TextFeatures
from tfreps._src.text.token_indexer import TokenIndexer
from tfreps._src.text.tokenizers import tokenize
from tfreps._src.text.unspaced import warn_of_clauses
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_char_ids import WordCharIndexer

BATCH_TOKENS = 4096
Tokenization = Literal["spaces", "characters", "all_characters", "words", "treebank", "bert"]


class TextModel(LoadedModel):
    """Trained model for raw texts; the subclasses describe the arguments.

    Attributes:
        tokenizer: Tokenizer of a BERT model, or `None` for other models.
        num_truncated: int. Number of texts truncated to `max_length` so far.
    """

    is_tagger: bool
    kind = "a tagger or classifier"

    def __init__(
        self,
        model: Tagger | HMMTagger | Classifier | SentenceEmbedder,
        indexer: TokenIndexer | PieceIndexer,
        tokens: Tokenization = "spaces",
        max_length: int | None = None,
        source: str | os.PathLike[str] | None = None,
    ):
        super().__init__(model, source)
        self.indexer: TokenIndexer | PieceIndexer = indexer
        self.vocabulary: Vocabulary | None = getattr(indexer, "vocabulary", None)
        self.tokenizer: PieceTokenizer | None = getattr(indexer, "tokenizer", None)
        self.word_characters: WordCharIndexer | None = getattr(indexer, "word_characters", None)
        self.tokens: str | PieceTokenizer = tokens
        if tokens == "bert" and self.tokenizer is not None:
            self.tokens = self.tokenizer
        self.max_length: int | None = max_length
        self.num_truncated: int = 0
        self._has_read = False
        model.preprocessor = TextFeatures(self._cut_tokens, indexer)

    def tokenize(self, texts: Iterable[str]) -> list[list[str]]:
        """Tokenizes raw texts as in training.

        Args:
            texts: iterable of str. Raw texts.

        Returns:
            list of lists of str. The tokens of each text.
        """
        texts = as_list("`texts`", texts)
        self._warn_of_clauses(texts)
        # "bert" is replaced by the tokenizer in the constructor.
        return tokenize(texts, self.tokens)  # pyright: ignore[reportArgumentType, reportCallIssue]

    def _cut_tokens(self, texts: list[str]) -> list[list[str]]:
        """Returns the tokens of each text, at most `max_length`."""
        return [tokens[: self.max_length] for tokens in self.tokenize(texts)]

    def _warn_of_clauses(self, texts: list[str]) -> None:
        """Logs a warning if the first texts that the model reads have no spaces between words."""
        if not self._has_read:
            warn_of_clauses(texts, self.tokens, self.source)
        self._has_read = self._has_read or bool(texts)

    def batches(
        self,
        tokens: Iterable[Sequence[str]],
        targets: Sequence[Any] | None = None,
        **options: Any,
    ) -> SequenceBatches:
        """Groups tokenized texts into `SequenceBatches`, the shortest texts first.

        Args:
            tokens: iterable of lists of str. The tokens of each text.
            targets: sequence. For a tagger, the list of tag ids of each text; for a classifier, the
                label id of each text. If `None`, the batches have no targets. Defaults to `None`.
            **options: Further arguments of `SequenceBatches`.

        Returns:
            `SequenceBatches` of the features that the indexer computes, and of the targets.
        """
        tokens = as_list("`tokens`", tokens, "sentences")
        options = {"batch_tokens": BATCH_TOKENS, "max_length": self.max_length, **options}
        return SequenceBatches(tokens, targets, self.indexer, **options)

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """Returns the `TextAttention` of a text, for a model that reads tokens and not pieces.

        The model must contain a Transformer. The text is truncated to `max_length` tokens. Raises a
        ValueError if `second` is given, if the text has no tokens, or if there is no Transformer.
        """
        encoder = self.transformer
        if second is not None:
            raise ValueError(
                "`second` does not apply to this model, which reads one text at a time; got "
                f"{second!r}. Omit `second`."
            )
        [tokens] = self.tokenize([text])
        if not tokens:
            raise ValueError(f"`text` must contain at least one token; got {text!r}.")
        tokens = tokens[: self.max_length]
        probabilities = encoder.attention(self.indexer(tf.constant([tokens])))
        return TextAttention(tokens, probabilities[0].numpy())

    def _reading(self) -> dict[str, Any]:
        found: dict[str, Any] = {"tokens": self.tokens if isinstance(self.tokens, str) else "bert"}
        if self.max_length is not None:
            found["max_length"] = self.max_length
        for name in ("lowercase", "digits_to_zero", "lowercase_fallback"):
            if getattr(self.indexer, name, False):
                found[name] = True
        return found

    def _tokens_of(self, texts: Iterable[str | Sequence[str]]) -> list[list[str]]:
        """Returns a list of the tokens of each text; lists of tokens are used unchanged."""
        texts = as_list("`texts`", texts)
        rows = iter(self.tokenize([text for text in texts if isinstance(text, str)]))
        return [next(rows) if isinstance(text, str) else list(text) for text in texts]

    def _rows(
        self,
        sentences: list[list[str]],
        outputs: Sequence[str],
        options: dict[str, Any],
        predict: Any = None,
    ) -> list[tuple]:
        """Applies the model to sentences, in batches.

        Args:
            sentences: list of lists of str. The tokens of each sentence.
            outputs: sequence of str. The names of the requested outputs of the model.
            options: dict. Options of `SequenceBatches`.
            predict: `tf.function` from the features of a batch to a dict of outputs. If `None`,
                `predict_on_batch` of the model is used. Defaults to `None`.

        Returns:
            list of tuples, one for each sentence, with the arrays of the requested outputs.
        """
        if not sentences:
            return []
        given = options.get("vectors")
        if given is not None and not self.model._reads_vectors:
            raise ValueError(
                f"`vectors` does not apply to this model, which reads no stored vectors; got "
                f"{given}. Omit `vectors`."
            )
        if given is None and self.model._reads_vectors:
            raise ValueError(
                "`vectors` is missing: the model reads vectors that were computed by `tfreps "
                "embed`. Use `tfreps evaluate` with the vectors of the text, or pass their file as "
                "`vectors` in Python. For raw text, train the model on the biLM itself instead of "
                "stored vectors."
            )
        batches = self.batches(sentences, **options)
        rows = []
        self.num_truncated += batches.num_truncated
        if predict is None:
            trace_once(self.model, batches.element_spec)
            predict = self.model.predict_on_batch
        else:
            # Traces the function once for all shapes.
            predict.get_concrete_function(batches.element_spec)
        for features in batches.dataset() if batches.num_batches() > 1 else batches.arrays():
            found = predict(features)
            rows += zip(*(np.asarray(found[name]) for name in outputs), strict=True)
        return batches.restore_order(rows)
