"""TextTagger: a trained tagger that is asked raw texts."""

from collections.abc import Sequence

import tensorflow as tf

from tfreps.inference.answers import TaggedText, TextAttention
from tfreps.inference.text_model import TextModel
from tfreps.models import HMMTagger, Tagger
from tfreps.text.bert.piece_indexer import check_room

OUTPUTS = "tags", "confidences", "mask"


class TextTagger(TextModel):
    """A tagger with all there is between a string and its tags.

    `tfreps.load` makes it of a run folder of `train-tagger` or `train-hmm`, or of a published BERT
    with a head over tags. Raw text is cut into tokens as it was in training.

    Args:
        model: `Tagger` or `HMMTagger`.
        indexer: `tfreps.text.TokenIndexer`, or of a BERT `PieceIndexer` of words, as in training.
        tokens: str. How raw text is cut, see `tfreps.text.tokenize`; "bert": as the tokenizer of a
            BERT cuts words.
        max_length: int or None. The most pieces of a sentence that a BERT has positions for.
        source: what it was loaded from.

    Attributes:
        names: list of str. The tags in the order of their ids.
        scheme: str or None. How they write spans.

    Raises:
        ValueError: the model is no tagger.

    Example:
    >>> from tfreps.models import HMMTagger
    >>> from tfreps.text import TokenIndexer
    >>> indexer = TokenIndexer.from_sentences([["Ada", "lives"]])
    >>> tagger = TextTagger(HMMTagger(indexer.vocabulary_size, ["NOUN", "VERB"]), indexer)
    >>> tagger("Ada lives here").tokens
    ['Ada', 'lives', 'here']
    >>> [answer.tags for answer in tagger([["Ada"], []])]
    [['NOUN'], []]
    """

    is_tagger, kind = True, "a tagger"

    def __init__(self, model, indexer, tokens="spaces", max_length=None, source=None):
        if not isinstance(model, Tagger | HMMTagger):
            raise ValueError(f"Expected a Tagger or HMMTagger; got a {type(model).__name__}.")
        super().__init__(model, indexer, tokens, max_length, source)
        self.names, self.scheme = model.tags, model.scheme

    def __call__(self, text):
        """Tags one raw text, or a list of texts: see `tag`."""
        return self.tag([text])[0] if isinstance(text, str) else self.tag(text)

    def tag(
        self,
        texts: Sequence[str | Sequence[str]],
        places: Sequence[str] | None = None,
        **options,
    ) -> list[TaggedText]:
        """Tags texts.

        Args:
            texts: raw texts, each one sentence; or lists of tokens, which may be empty.
            places: list of str. How an error calls each text; by default by its number.
            **options: of `tfreps.data.SequenceBatches`, such as `vectors`.

        Returns:
            `TaggedText` of each.

        Raises:
            ValueError: a sentence has more pieces than a BERT has positions for.
        """
        sentences = self._tokens_of(texts)
        if self.tokenizer is not None:
            check_room(sentences, self.tokenizer, self.max_length, places)
            options = {"max_length": None, **options}
        answers, rows = [], self._rows(sentences, OUTPUTS, options)
        for text, tokens, (tags, confidences, mask) in zip(texts, sentences, rows, strict=True):
            names = [self.names[tag] for tag in tags[mask]]
            raw = text if isinstance(text, str) else None
            answers.append(TaggedText(tokens, names, confidences[mask].tolist(), self.scheme, raw))
        return answers

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """As of `TextModel`; of a tagger on a BERT, the attention of the pieces of its words."""
        if self.tokenizer is None or second is not None:
            return super().attention(text, second)
        [tokens] = self.tokenize([text])
        if not tokens:
            raise ValueError(f"There is no token in the text {text!r}.")
        check_room([tokens], self.tokenizer, self.max_length)
        features = self.indexer(tf.constant([tokens]))
        ids, probabilities = self.model.encoder.attention(features)  # `PieceEncoder`
        names = [self.tokenizer.vocabulary[number] for number in ids[0]]
        return TextAttention(names, probabilities[0].numpy())
