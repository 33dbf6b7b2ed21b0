"""TextModel: what a tagger and a classifier that answer texts have in common."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfreps.data import SequenceBatches
from tfreps.inference.answers import TextAttention
from tfreps.inference.loaded_model import LoadedModel
from tfreps.text.tokenizers import tokenize_texts

BATCH_TOKENS = 4096


class TextModel(LoadedModel):
    """A tagger or classifier with all there is between a string and its answer.

    Args:
        model: `Tagger`, `HMMTagger` or `Classifier`.
        indexer: `tfreps.text.TokenIndexer`, or of a BERT `PieceIndexer`, as in training.
        tokens: str. How raw text is cut, see `tfreps.text.tokenize`; "bert": as its tokenizer
            cuts words.
        max_length: int or None. Texts are cut after so many tokens (a classifier's only). A
            BERT's tokens are pieces, start and separator among them.
        source: what it was loaded from.

    Attributes:
        tokenizer: that of a BERT; else None.
        num_cut: int. Texts that were cut to `max_length` so far.
    """

    is_tagger: bool
    kind = "a tagger or classifier"

    def __init__(self, model, indexer, tokens="spaces", max_length=None, source=None):
        super().__init__(model, source)
        self.indexer = indexer
        self.tokenizer = getattr(indexer, "tokenizer", None)
        self.tokens = self.tokenizer if tokens == "bert" else tokens
        self.max_length = max_length
        self.num_cut = 0

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Raw texts to tokens, cut as in training."""
        return tokenize_texts(texts, self.tokens)

    def batches(self, tokens, targets=None, **options) -> SequenceBatches:
        """The batches in which sentences or texts are looked at, shortest first."""
        options = {"batch_tokens": BATCH_TOKENS, "max_length": self.max_length, **options}
        return SequenceBatches(tokens, targets, self.indexer, **options)

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """Reads a text, and returns the attention of the Transformer inside of the model.

        Args:
            text: raw text. It is cut as in training.
            second: another, which a classifier on a BERT reads after the first.

        Returns:
            `TextAttention`: T tokens, and float32 `[L, H, T, T]` (layer, head, from, to); rows
            add up to 1.

        Raises:
            ValueError: the model has no attention; a text without tokens, or longer than the
                model's positions; a second text for a model without segments.
        """
        encoder = self.transformer
        if second is not None:
            raise ValueError("The model reads one text at a time: leave the second out.")
        [tokens] = self.tokenize([text])
        if not tokens:
            raise ValueError(f"There is no token in the text {text!r}.")
        probabilities = encoder.attention(self.indexer(tf.constant([tokens])))
        return TextAttention(tokens, probabilities[0].numpy())

    def _tokens_of(self, texts):
        """The tokens of each text; lists of tokens are taken as they are."""
        if isinstance(texts, str | bytes):
            raise ValueError(f"Expected a list of texts; got the string {texts[:40]!r}.")
        rows = iter(self.tokenize([text for text in texts if isinstance(text, str)]))
        return [next(rows) if isinstance(text, str) else text for text in texts]

    def _rows(self, sentences, outputs, options):
        """The outputs for each sentence, in the order of the sentences."""
        if not sentences:
            return []
        given = options.get("vectors")
        if given is not None and not self.model.reads_vectors:
            raise ValueError(f"The model reads no stored vectors: leave {given} out.")
        if given is None and self.model.reads_vectors:
            raise ValueError(
                "The model reads vectors that `tfreps embed` computed before, and there are none "
                "for this text. Measure it with `tfreps evaluate` and the vectors of its text; to "
                "ask it about raw text, train it on the biLM itself in place of stored vectors."
            )
        batches, rows = self.batches(sentences, **options), []
        self.num_cut += batches.num_cut
        for features in batches.dataset():
            answer = self.model.predict_on_batch(features)
            rows += zip(*(np.asarray(answer[name]) for name in outputs), strict=True)
        return batches.in_order(rows)
