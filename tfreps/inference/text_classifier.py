"""TextClassifier: a trained classifier that is asked raw texts."""

from collections.abc import Sequence

from tfreps.inference.answers import ClassifiedText, TextAttention
from tfreps.inference.attention import piece_attention
from tfreps.inference.text_model import TextModel
from tfreps.models import Classifier
from tfreps.text.bert.piece_indexer import piece_texts

OUTPUTS = "labels", "probabilities"


class TextClassifier(TextModel):
    """A classifier with all there is between a string and its label.

    `tfreps.load` makes it of a run folder of `train-classifier`, or of a published BERT with a head
    over labels. Raw text is cut into tokens as it was in training.

    Args:
        model: `Classifier`.
        indexer: `tfreps.text.TokenIndexer`, or of a BERT `PieceIndexer`, as in training.
        tokens: str. How raw text is cut, see `tfreps.text.tokenize`.
        max_length: int or None. Texts are cut after so many tokens. A BERT's tokens are pieces,
            start and separator among them.
        source: what it was loaded from.

    Attributes:
        names: list of str. The labels in the order of their ids.
        num_cut: int. Texts that were cut to `max_length` so far.

    Raises:
        ValueError: the model is no classifier.

    Example:
    >>> from tfreps.models import TokenEmbedder
    >>> from tfreps.text import TokenIndexer
    >>> indexer = TokenIndexer.from_sentences([["a", "fine", "hotel"]])
    >>> embedder = TokenEmbedder(indexer.vocabulary_size, 8)
    >>> classifier = TextClassifier(Classifier(embedder, ["bad", "good"]), indexer)
    >>> list(classifier("a fine hotel").probabilities)
    ['bad', 'good']
    """

    is_tagger, kind, scheme = False, "a classifier", None

    def __init__(self, model, indexer, tokens="spaces", max_length=None, source=None):
        if not isinstance(model, Classifier):
            raise ValueError(f"Expected a Classifier; got a {type(model).__name__}.")
        super().__init__(model, indexer, tokens, max_length, source)
        self.names = model.labels

    def __call__(self, text):
        """Classifies one raw text, or a list of texts: see `classify`."""
        return self.classify([text])[0] if isinstance(text, str) else self.classify(text)

    def classify(self, texts: Sequence[str | Sequence[str]], **options) -> list[ClassifiedText]:
        """Classifies texts.

        Args:
            texts: raw texts; or lists of tokens, as `tokenize` gives them, which may be empty.
            **options: of `tfreps.data.SequenceBatches`.

        Returns:
            `ClassifiedText` of each.
        """
        answers = []
        for label, probabilities in self._rows(self._tokens_of(texts), OUTPUTS, options):
            shares = dict(zip(self.names, probabilities.tolist(), strict=True))
            answers.append(ClassifiedText(self.names[int(label)], shares))
        return answers

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Raw texts to tokens, cut as in training; of a BERT to pieces, with start and separator.

        Too long texts of a BERT are cut, and counted in `num_cut`.
        """
        if self.tokenizer is None:
            return super().tokenize(texts)
        tokens, num_cut = piece_texts(texts, self.tokenizer, self.max_length)
        self.num_cut += num_cut
        return tokens

    def cut_notice(self) -> str:
        """The sentence about the texts that were cut."""
        return f"{self.num_cut:,} texts were cut to {self.max_length} tokens, as in training."

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """As of `TextModel`; a classifier on a BERT reads two texts as two segments."""
        if self.tokenizer is None:
            return super().attention(text, second)
        return piece_attention(self.transformer, self.tokenizer, text, second)
