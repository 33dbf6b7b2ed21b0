"""WholeTextModel: base class of `TextClassifier` and `TextEmbedder`, which read whole texts."""

from collections.abc import Iterable

from tfreps._src.inference.attention import piece_attention
from tfreps._src.inference.outputs import TextAttention
from tfreps._src.inference.text_model import TextModel
from tfreps._src.text.bert.piece_indexer import piece_texts


class WholeTextModel(TextModel):
    """Trained model with one output per text; the subclasses describe the arguments."""

    is_tagger = False
    scheme: None = None

    def tokenize(self, texts: Iterable[str]) -> list[list[str]]:
        """Tokenizes raw texts as in training.

        For a BERT model, the tokens are pieces, including `[CLS]` and `[SEP]`, and texts with more
        than `max_length` pieces are truncated and counted in `num_truncated`.

        Args:
            texts: iterable of str. Raw texts.

        Returns:
            list of lists of str. The tokens of each text.
        """
        if self.tokenizer is None:
            return super().tokenize(texts)
        tokens, num_truncated = piece_texts(texts, self.tokenizer, self.max_length)
        self.num_truncated: int = self.num_truncated + num_truncated
        return tokens

    def truncation_message(self) -> str:
        """Returns a message with the number of texts that were truncated."""
        counted = f"{self.num_truncated:,} texts"
        return f"{counted} were truncated to {self.max_length} tokens, as in training."

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """Returns the attention of the Transformer inside the model for a text.

        Args:
            text: str. Raw text, which is tokenized as in training. Without a second text, it is
                truncated to `max_length`.
            second: str. Second text, which a BERT model reads as the second segment. Defaults
                to `None`.

        Returns:
            `TextAttention` with T tokens and float32 probabilities of shape `[L, H, T, T]` (layer,
            head, from, to). Each row sums to 1.

        Raises:
            ValueError: If the model has no attention, if a text has no tokens, if a BERT model has
                fewer position embeddings than the truncated text has pieces, or if a second text is
                given to a model other than BERT.
            tf.errors.InvalidArgumentError: For a model other than BERT, if the truncated text has
                more tokens than the model has position embeddings.
        """
        if self.tokenizer is None:
            return super().attention(text, second)
        return piece_attention(self.transformer, self.tokenizer, text, second, self.max_length)
