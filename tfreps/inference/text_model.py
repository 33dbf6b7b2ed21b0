"""TextModel: base class of `TextTagger` and `TextClassifier`."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfreps.data import SequenceBatches
from tfreps.inference.answers import TextAttention
from tfreps.inference.loaded_model import LoadedModel
from tfreps.inference.one_trace import trace_once
from tfreps.text.text_lists import check_list
from tfreps.text.tokenizers import tokenize_texts

BATCH_TOKENS = 4096


class TextModel(LoadedModel):
    """Trained tagger or classifier for raw texts.

    Args:
        model: `Tagger`, `HMMTagger` or `Classifier`.
        indexer: The indexer used in training: `tfreps.text.TokenIndexer`, or `PieceIndexer` for a
            BERT model.
        tokens: str. Tokenization of raw text: `"spaces"`, `"characters"` or `"words"`, which
            `tfreps.text.tokenize` defines, or `"bert"` for the word boundaries of the BERT
            tokenizer. Defaults to `"spaces"`.
        max_length: int. A classifier truncates texts to this number of tokens (for a BERT model,
            pieces including `[CLS]` and `[SEP]`). A tagger on a BERT model raises an error for
            sentences with more pieces, and any other tagger requires `None`. If `None`, the length
            is not limited. Defaults to `None`.
        source: str or path-like. Path that the model was loaded from. Defaults to `None`.

    Attributes:
        tokenizer: Tokenizer of a BERT model, or `None` for other models.
        num_cut: int. Number of texts truncated to `max_length` so far.
    """

    is_tagger: bool
    kind = "a tagger or classifier"

    def __init__(self, model, indexer, tokens="spaces", max_length=None, source=None):
        super().__init__(model, source)
        self.indexer = indexer
        self.vocabulary = getattr(indexer, "vocabulary", None)
        self.tokenizer = getattr(indexer, "tokenizer", None)
        self.tokens = self.tokenizer if tokens == "bert" else tokens
        self.max_length = max_length
        self.num_cut = 0

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Tokenizes raw texts as in training.

        Args:
            texts: list of str. Raw texts.

        Returns:
            list of lists of str. The tokens of each text.
        """
        return tokenize_texts(texts, self.tokens)

    def batches(self, tokens, targets=None, **options) -> SequenceBatches:
        """Returns the batches in which sentences or texts are read, shortest first.

        Args:
            tokens: list of lists of str. The tokens of each sentence or text.
            targets: list. The tag ids or the label id of each sentence or text. If `None`, the
                batches have no targets. Defaults to `None`.
            **options: Options of `tfreps.data.SequenceBatches`.

        Returns:
            `tfreps.data.SequenceBatches`.

        Raises:
            ValueError: If `SequenceBatches` raises a ValueError.
        """
        options = {"batch_tokens": BATCH_TOKENS, "max_length": self.max_length, **options}
        return SequenceBatches(tokens, targets, self.indexer, **options)

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """Returns the attention of the Transformer inside the model for a text.

        Args:
            text: str. Raw text, which is tokenized and truncated as in training.
            second: str. Second text, which a classifier on a BERT model reads as the second
                segment. Must be `None` for any other model. Defaults to `None`.

        Returns:
            `TextAttention` with T tokens and float32 probabilities of shape `[L, H, T, T]` (layer,
            head, from, to). Each row sums to 1.

        Raises:
            ValueError: If the model has no attention, if the text has no tokens, or if a second
                text is given to any model except a classifier on a BERT model.
            tf.errors.InvalidArgumentError: If the text, after truncation, has more tokens than the
                model has learned positions.
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

    def _reading(self):
        found = {"tokens": self.tokens if isinstance(self.tokens, str) else "bert"}
        if self.max_length is not None:
            found["max_length"] = self.max_length
        for name in ("lowercase", "digits_to_zero"):
            if getattr(self.indexer, name, False):
                found[name] = True
        return found

    def _tokens_of(self, texts):
        """Returns the tokens of each text; lists of tokens are used unchanged."""
        check_list("`texts`", texts)
        rows = iter(self.tokenize([text for text in texts if isinstance(text, str)]))
        return [next(rows) if isinstance(text, str) else text for text in texts]

    def _rows(self, sentences, outputs, options):
        """Returns the outputs for each sentence, in the order of the sentences."""
        if not sentences:
            return []
        given = options.get("vectors")
        if given is not None and not self.model.reads_vectors:
            raise ValueError(
                f"`vectors` does not apply to this model, which reads no stored vectors; got "
                f"{given}. Omit `vectors`."
            )
        if given is None and self.model.reads_vectors:
            raise ValueError(
                "`vectors` is missing: the model reads vectors that were computed by `tfreps "
                "embed`. Use `tfreps evaluate` with the vectors of the text, or pass their file as "
                "`vectors` in Python. For raw text, train the model on the biLM itself instead of "
                "stored vectors."
            )
        batches = self.batches(sentences, **options)
        rows = []
        self.num_cut += batches.num_cut
        trace_once(self.model, batches.element_spec)
        for features in batches.dataset() if batches.num_batches() > 1 else batches.arrays():
            answer = self.model.predict_on_batch(features)
            rows += zip(*(np.asarray(answer[name]) for name in outputs), strict=True)
        return batches.in_order(rows)
