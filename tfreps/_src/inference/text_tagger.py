"""TextTagger: a trained tagger for raw texts."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import tensorflow as tf

from tfreps._src.files.argument_checks import as_list
from tfreps._src.inference.outputs import TaggedText, TextAttention, TextSpan
from tfreps._src.inference.tag_stream import TagStream
from tfreps._src.inference.text_model import TextModel, Tokenization
from tfreps._src.models.hmm import HMMTagger
from tfreps._src.models.tagger import Tagger
from tfreps._src.text.bert.piece_indexer import PieceIndexer, check_num_pieces
from tfreps._src.text.tags.tag_schemes import Scheme
from tfreps._src.text.token_indexer import TokenIndexer
from tfreps._src.text.token_offsets import tokenize_with_offsets

OUTPUTS = "tags", "confidences", "mask"
SPAN_OUTPUTS = "spans", "span_confidences"


class Sentence(NamedTuple):
    """Tokens of a text, with the `(start, end)` of each token in the raw text as `offsets`.

    `text` and `offsets` are `None` if the input was a list of tokens.
    """

    text: str | None
    tokens: list[str]
    offsets: list[tuple[int, int]] | None = None

    def span(self, kind: str, start: int, end: int, confidence: float) -> TextSpan:
        """Returns the `TextSpan` of the tokens from `start` to `end` (exclusive)."""
        if self.text is None or self.offsets is None:
            return TextSpan(kind, start, end, " ".join(self.tokens[start:end]), confidence)
        first, last = self.offsets[start][0], self.offsets[end - 1][1]
        return TextSpan(kind, start, end, self.text[first:last], confidence, first, last)


class TextTagger(TextModel):
    """Trained tagger that tags raw texts.

    `tfreps.load` returns it for a run folder of `train-tagger` or `train-hmm`, and for a published
    BERT model with a tag head and for LAC. Raw text is tokenized as in training.

    Args:
        model: `Tagger` or `HMMTagger`.
        indexer: The indexer used in training: `tfreps.text.TokenIndexer`, or for a BERT
            model a `PieceIndexer` with `words=True`.
        tokens: str. Tokenization of raw text: a method of `tfreps.text.tokenize`, such as
            `"spaces"`, `"characters"` or `"words"`, or `"bert"` for the word boundaries of the BERT
            tokenizer. Defaults to `"spaces"`.
        max_length: int. Maximum number of pieces of a sentence for a BERT model, including `[CLS]`
            and `[SEP]`. Must be `None` for other models, which read whole sentences. If `None`, the
            length is not limited. Defaults to `None`.
        source: str or path-like. Path, name or address that the model was loaded from. Defaults to
            `None`.

    Attributes:
        names: list of str. The tags in the order of their ids.
        scheme: str or None. Tag scheme of the spans, as defined in `tfreps.tags`. If `None`,
            the tags do not form spans.

    Raises:
        ValueError: If `model` is not a `Tagger` or `HMMTagger`, or `max_length` is given without a
            BERT model.

    Example:
    >>> from tfreps.models import HMMTagger
    >>> from tfreps.text import TokenIndexer
    >>> indexer = TokenIndexer.from_sentences([["Ada", "lives"]])
    >>> tagger = TextTagger(HMMTagger(indexer.vocabulary_size, ["NOUN", "VERB"]), indexer)
    >>> tagger("Ada lives here").tokens
    ['Ada', 'lives', 'here']
    >>> [tagged.tags for tagged in tagger([["Ada"], []])]
    [['NOUN'], []]
    """

    is_tagger = True
    kind = "a tagger"

    def __init__(
        self,
        model: Tagger | HMMTagger,
        indexer: TokenIndexer | PieceIndexer,
        tokens: Tokenization = "spaces",
        max_length: int | None = None,
        source: str | os.PathLike[str] | None = None,
    ):
        if not isinstance(model, Tagger | HMMTagger):
            raise ValueError(
                f"`model` must be a Tagger or HMMTagger; got a {type(model).__name__}."
            )
        super().__init__(model, indexer, tokens, max_length, source)
        if max_length is not None and self.tokenizer is None:
            raise ValueError(
                "`max_length` does not apply to a tagger without a BERT model, which reads whole "
                f"sentences; got {max_length}. Omit `max_length`."
            )
        self.names: list[str] = model.tags
        self.scheme: Scheme | None = model.scheme
        self._span_finder_of: tuple[tuple[float, float], Any] | None = None
        self._traced: tuple[tuple[int, ...], Any] | None = None

    @property
    def temperature(self) -> float:
        """Temperature of the model, by which it divides its scores."""
        return self.model.temperature

    @overload  # this overload overlaps the next one, because a str is an Iterable[str]
    def __call__(self, text: str) -> TaggedText: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Iterable[str | Sequence[str]]) -> list[TaggedText]: ...

    def __call__(self, text: Any) -> Any:
        """Returns the `TaggedText` of one raw text, or the result of `tag` for several texts."""
        return self.tag([text])[0] if isinstance(text, str) else self.tag(text)

    def tag(
        self,
        texts: Iterable[str | Sequence[str]],
        locations: Sequence[str] | None = None,
        **options: Any,
    ) -> list[TaggedText]:
        """Tags texts.

        Args:
            texts: iterable, such as a list or an open file. Raw texts of one sentence each, or
                lists of tokens. A list of tokens may be empty.
            locations: list of str. Names of the texts in error messages, such as `"a.txt, line 3"`.
                If `None`, the texts are numbered. Defaults to `None`.
            **options: Options of `tfreps.data.SequenceBatches`, such as `vectors`.

        Returns:
            list of `TaggedText`, one per text.

        Raises:
            ValueError: If `texts` is a single string or an entry is not a text, if a sentence for a
                BERT model has more than `max_length` pieces, if the option `vectors` is missing for
                a model that reads stored vectors or is given for any other model, or if
                `SequenceBatches` raises a ValueError.
            tf.errors.InvalidArgumentError: If a sentence passes these checks, but has more tokens
                or pieces than the model has position embeddings.
        """
        sentences = self._sentences(texts)
        tokens = [sentence.tokens for sentence in sentences]
        options = self._checked(tokens, locations, options)
        outputs = OUTPUTS if self.scheme is None else OUTPUTS + SPAN_OUTPUTS
        rows = self._rows(tokens, outputs, options)
        found = []
        for sentence, (tags, confidences, mask, *spans) in zip(sentences, rows, strict=True):
            names = [self.names[tag] for tag in tags[mask]]
            texts_of_spans = [] if self.scheme is None else self._text_spans(sentence, *spans)
            known = confidences[mask].tolist(), self.scheme, sentence.text
            found.append(TaggedText(sentence.tokens, names, *known, texts_of_spans))
        return found

    def likely_spans(
        self,
        texts: Iterable[str | Sequence[str]],
        threshold: float = 0.1,
        overlapping: bool = True,
        locations: Sequence[str] | None = None,
        **options: Any,
    ) -> list[list[TextSpan]]:
        """Finds all spans whose probability is at least `threshold`, the most probable ones first.

        The probability, which is the `confidence` of the spans, sums over all tag sequences, so
        that the result also contains spans that are not in the best sequence. The search is exact.

        Args:
            texts: iterable, such as a list or an open file. Raw texts of one sentence each, or
                lists of tokens. A list of tokens may be empty.
            threshold: float from 0.001 to 1. Minimum probability of a returned span. Defaults to
                0.1.
            overlapping: bool. Whether spans of a text may have tokens in common. If `False`, the
                spans are chosen from the most probable one on, and each span that overlaps a
                chosen one is left out. Defaults to `True`.
            locations: list of str. Names of the texts in error messages, such as `"a.txt, line 3"`.
                If `None`, the texts are numbered. Defaults to `None`.
            **options: Options of `tfreps.data.SequenceBatches`, such as `vectors`.

        Returns:
            list of lists of `TextSpan`, one list per text.

        Raises:
            ValueError: If the tags have no scheme, if `threshold` is out of range, or if `tag`
                raises a ValueError for the same texts and options.
            tf.errors.InvalidArgumentError: If a sentence has more tokens or pieces than the model
                has position embeddings.

        Example:
        >>> from tfreps.models import HMMTagger
        >>> from tfreps.text import TokenIndexer
        >>> indexer = TokenIndexer.from_sentences([["Ada", "lives"]])
        >>> hmm = HMMTagger(indexer.vocabulary_size, ["O", "B-PER"], scheme="bio")
        >>> [spans] = TextTagger(hmm, indexer).likely_spans(["Ada"], threshold=0.3)
        >>> [(span.type, span.text, span.confidence) for span in spans]
        [('PER', 'Ada', 0.5)]
        """
        sentences = self._sentences(texts)
        tokens = [sentence.tokens for sentence in sentences]
        options = self._checked(tokens, locations, options)
        rows = self._rows(tokens, SPAN_OUTPUTS, options, self._span_finder(threshold))
        found = []
        for sentence, row in zip(sentences, rows, strict=True):
            spans = self._text_spans(sentence, *row)
            found.append(spans if overlapping else _without_overlaps(spans))
        return found

    def _span_finder(self, threshold: float) -> Any:
        """Returns a `tf.function` that finds the spans whose probability is at least `threshold`.

        The function takes the features of a batch, and returns a dict with `spans` and
        `span_confidences`. It is stored and reused until the threshold or the temperature changes.
        """
        key = threshold, self.model.temperature
        if self._span_finder_of is None or self._span_finder_of[0] != key:

            def find(features: Any) -> dict[str, tf.Tensor]:
                spans, log_probabilities = self.model.likely_spans(features, threshold)
                return {"spans": spans, "span_confidences": tf.exp(log_probabilities)}

            self._span_finder_of = key, tf.function(find, autograph=False)
        return self._span_finder_of[1]

    def _sentences(self, texts: Iterable[str | Sequence[str]]) -> list[Sentence]:
        """Returns a list with the `Sentence` of each text; lists of tokens are used unchanged."""
        texts = as_list("`texts`", texts)
        raw = [text for text in texts if isinstance(text, str)]
        self._warn_of_clauses(raw)
        # "bert" is replaced by the tokenizer in the constructor.
        rows = zip(raw, *tokenize_with_offsets(raw, self.tokens), strict=True)  # pyright: ignore[reportArgumentType]
        return [
            Sentence(*next(rows)) if isinstance(text, str) else Sentence(None, list(text))
            for text in texts
        ]

    def _checked(self, tokens, locations, options):
        """Raises a ValueError if a sentence has too many pieces for a BERT model.

        `locations` is a list of the names of the sentences in error messages, or `None`. `options`
        is the dict of options that the caller of `tag` passed. Returns this dict; for a BERT model,
        the limit on the number of tokens, `max_length`, is set to `None` unless it was passed.
        """
        if self.tokenizer is None:
            return options
        check_num_pieces(tokens, self.tokenizer, self.max_length, locations)
        return {"max_length": None, **options}

    def _text_spans(self, sentence: Sentence, spans: Any, probabilities: Any) -> list[TextSpan]:
        """Returns a list with the `TextSpan` of each row of `spans` that is not padding.

        A row of `spans`, int32 `[S, 3]`, contains the index of the span type, the start and the
        end. `probabilities`, `[S]`, are the confidences of the spans.
        """
        types = self.model.span_types
        return [
            sentence.span(types[kind], start, end, probability)
            for (kind, start, end), probability in zip(
                spans.tolist(), probabilities.tolist(), strict=True
            )
            if end > start
        ]

    def stream(
        self,
        look_ahead: int | None = None,
        context: int | None = None,
        stride: int | None = None,
        max_pending: int = 1000,
    ) -> TagStream:
        """Returns a stream that tags a text that arrives in parts, as early as possible.

        The stream reads the text as one sentence of any length. `TagStream` describes which tags
        are final, and when they equal the tags that `tag` returns.

        Args:
            look_ahead: int. Number of tokens after each token from which the emission scores of
                this token are computed. Required, like `context`, if the encoder reads the whole
                sentence, as all encoders except `LinearEncoder` and `TokenEmbedder` without ELMo
                do. The tags then approximate the tags that `tag` returns. Must be `None` for other
                models, which determine this number themselves. Defaults to `None`.
            context: int. Number of tokens before each token from which the emission scores of this
                token are computed. Defaults to `None`.
            stride: int. Number of tokens whose emission scores are computed together, from one
                window of `context + stride + look_ahead` tokens. With a larger stride, fewer
                windows are encoded, but tags become final up to `stride - 1` tokens later. Must be
                `None` if `look_ahead` must be `None`. Otherwise, `None` means 1. Defaults to
                `None`.
            max_pending: int. Maximum number of tokens whose emission scores are final but whose
                tags are undecided. If there are more, the tags of the older half are fixed.
                Defaults to 1000.

        Returns:
            `TagStream`. Its methods `append` and `close` return the tags and spans as they change.

        Raises:
            ValueError: If an option does not apply to the model, is missing or is out of range, or
                if the model reads stored vectors.

        Example:
        >>> from tfreps.models import HMMTagger
        >>> from tfreps.text import TokenIndexer
        >>> indexer = TokenIndexer.from_sentences([["Ada", "lives"]])
        >>> stream = TextTagger(HMMTagger(indexer.vocabulary_size, ["X"]), indexer).stream()
        >>> stream.append("Ada li").tokens, stream.append("ves").provisional_tokens
        (['Ada'], ['lives'])
        >>> stream.close().tokens
        ['lives']
        """
        return TagStream(self, look_ahead, context, stride, max_pending)

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """Computes how much the tokens of a text attend to each other in the model's Transformer.

        Args:
            text: str. Raw text, which is tokenized as in training.
            second: str. Must be `None`: a tagger reads one text. Defaults to `None`.

        Returns:
            `TextAttention` with T tokens (for a BERT model, `[CLS]`, the pieces of the words and
            `[SEP]`) and float32 probabilities of shape `[L, H, T, T]` (layer, head, from, to). Each
            row sums to 1.

        Raises:
            ValueError: If the model has no attention, if the text has no tokens, if it has more
                than `max_length` pieces for a BERT model, or if a second text is given.
            tf.errors.InvalidArgumentError: If the text passes these checks, but has more tokens or
                pieces than the model has position embeddings.
        """
        if self.tokenizer is None or second is not None:
            return super().attention(text, second)
        [tokens] = self.tokenize([text])
        if not tokens:
            raise ValueError(f"`text` must contain at least one token; got {text!r}.")
        check_num_pieces([tokens], self.tokenizer, self.max_length)
        features = self.indexer(tf.constant([tokens]))
        # The encoder is a `PieceEncoder`.
        ids, probabilities = self.model.encoder.attention(features)
        names = [self.tokenizer.vocabulary[number] for number in ids[0]]
        return TextAttention(names, probabilities[0].numpy())

    def _step_scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns three arrays of scores: transitions `[K, K]`, start `[K]` and end `[K]`."""
        outputs = {"emissions": tf.zeros([1, 1, len(self.names)]), "mask": tf.ones([1, 1], "bool")}
        _, _, transitions, start, end = self.model._chain(outputs)
        return transitions.numpy(), start.numpy(), end.numpy()

    def _emissions(self, rows: list[list[str]]) -> np.ndarray:
        """Returns the emission scores of B sentences for decoding, float32 `[B, T, K]`."""
        if self.tokenizer is not None:
            check_num_pieces(rows, self.tokenizer, self.max_length)
        longest = max(map(len, rows))
        tokens = tf.constant([row + [""] * (longest - len(row)) for row in rows])
        emissions = self._emission_function()(tokens).numpy()
        if not (emissions < np.inf).all():
            raise ValueError(
                "The emission scores of the model must be below infinity; got NaN or infinity for "
                f"the tokens {' '.join(rows[0])[:60]!r}. Check the weights of the model."
            )
        return emissions

    def _emission_function(self) -> Any:
        """Returns a `tf.function` from tokens `[B, T]` to emissions `[B, T, K]`.

        The function is stored, and is traced again only if the variables of the model are replaced.
        """
        key = tuple(map(id, self.model.variables))
        if self._traced is None or self._traced[0] != key:

            @tf.function(input_signature=[tf.TensorSpec([None, None], tf.string)], autograph=False)
            def emissions(tokens):
                return self.model._chain(self.indexer(tokens))[0]

            self._traced = key, emissions
        return self._traced[1]


def _without_overlaps(spans: list[TextSpan]) -> list[TextSpan]:
    """Returns a list of the spans that share no token with an earlier span of this list."""
    kept: list[TextSpan] = []
    for span in spans:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return kept
