"""TagStream: tags a text that arrives in parts, with the spans that are final and provisional."""

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.inference.chain_stream import ChainStream
from tfreps._src.text.tags.tag_schemes import NOTHING, tag_parts
from tfreps._src.text.tags.tag_sequences import SpanReader
from tfreps._src.text.token_stream import StreamToken, TokenStream

if TYPE_CHECKING:
    from tfreps._src.inference.text_tagger import TextTagger

# Number of tokens per window, for a model whose emissions depend on a limited context.
WINDOW_TOKENS = 256
BATCH_TOKENS = 4096  # maximum number of tokens in a batch of windows, with padding


class StreamSpan(NamedTuple):
    """Span of tokens in a stream.

    Attributes:
        type: str. Type of the span, such as `"PER"`.
        start: int. Index of the first token of the span, counted from the start of the stream.
        end: int. End index, exclusive.
        text: str. The part of the text from the first to the last token of the span.
        start_char: int. Index of the first character of the span in the text of the stream.
        end_char: int. End index, exclusive: `text` is `stream_text[start_char:end_char]`, where
            `stream_text` is the text of the stream.

    Example:
    >>> StreamSpan("PER", 0, 1, "Ada", 0, 3)
    StreamSpan(type='PER', start=0, end=1, text='Ada', start_char=0, end_char=3)
    """

    type: str
    start: int
    end: int
    text: str
    start_char: int
    end_char: int


@dataclasses.dataclass(frozen=True)
class StreamUpdate:
    """Changes of the tags and spans of a `TagStream` when a part of the text arrives.

    To keep a set of all spans of the text so far, remove the `retracted` spans of each update from
    it, and then add `spans` and `provisional_spans`.

    Attributes:
        tokens: list of str. The tokens whose tags became final.
        tags: list of str. The final tag of each token in `tokens`.
        spans: list of `StreamSpan`. The spans that became final.
        provisional_tokens: list of str. All tokens so far whose tags are not final.
        provisional_tags: list of str. The tags that `provisional_tokens` would have if the text
            ended here.
        provisional_spans: list of `StreamSpan`. The spans that would be added to the final ones if
            the text ended here.
        retracted: list of `StreamSpan`. The provisional spans of the previous update that are
            neither final nor provisional now.
    """

    tokens: list[str]
    tags: list[str]
    spans: list[StreamSpan]
    provisional_tokens: list[str]
    provisional_tags: list[str]
    provisional_spans: list[StreamSpan]
    retracted: list[StreamSpan]

    def asdict(self) -> dict[str, Any]:
        """Converts the update to a dict for JSON, in which the spans are dicts.

        Returns:
            dict with the attributes as keys.
        """
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        for name in ("spans", "provisional_spans", "retracted"):
            found[name] = [span._asdict() for span in found[name]]
        return found


class TagStream:
    """Tagger of a text that arrives in parts, such as the output of a speech recognizer.

    The stream is one text, which the tagger reads as one sentence. `TextTagger.stream` creates it.

    **Final tags.** A tag is final when the text that follows cannot change it: the token is
    complete, its emission scores are final, and all sequences of tags that may still become the
    best one have this tag there. A span is final when the tag after it is.

    - For an `HMMTagger`, and for a `Tagger` on a `LinearEncoder` or on a `TokenEmbedder` without
      ELMo, the emission scores of a token depend only on a fixed number of tokens around it. The
      final tags then equal the output of `TextTagger.tag` for the whole text, up to rounding, and
      the tags of an update, final and provisional, equal the output of `tag` for the text so far.
    - Other encoders read the whole sentence. The stream approximates this by windows: the emissions
      of `stride` tokens are computed from a window of these tokens, `context` tokens before them
      and `look_ahead` tokens after them. The emissions are final when the window is complete, and
      do not depend on how the text is split into parts. If `context` and `look_ahead` are at least
      the number of tokens, the tags equal the output of `tag`.

    If the best sequences differ for more than `max_pending` tokens, the older half of these tokens
    gets the tags of the best sequence so far, which may then differ from the output of `tag`.

    **Cost.** Memory and the number of tokens encoded per new token do not depend on the length
    of the stream, only on the windows, `max_pending`, and the length of the unfinished token and
    span. Each update computes the provisional tags again.

    **Confidences.** Updates contain no confidences, because the probability of a tag depends on the
    text that follows.

    Args:
        tagger: `TextTagger`.
        look_ahead, context, stride, max_pending: int. Options that `TextTagger.stream` describes.

    Raises:
        ValueError: If an option does not apply to the model, is missing or is out of range, or if
            the model reads stored vectors.

    Example:
    >>> from tfreps.inference import TextTagger
    >>> from tfreps.models import HMMTagger
    >>> from tfreps.text import TokenIndexer
    >>> indexer = TokenIndexer.from_sentences([["Ada", "Lovelace", "wrote"]])
    >>> hmm = HMMTagger(indexer.vocabulary_size, ["O", "B-PER", "I-PER"], "bio")
    >>> ids = [[4, 5, 6], [6, 4, 5], [4, 6]]
    >>> _ = hmm.fit_counts(ids, [[1, 2, 0], [0, 1, 2], [1, 0]])
    >>> stream = TextTagger(hmm, indexer).stream()
    >>> [span.text for span in stream.append("Ada Love").provisional_spans]
    ['Ada Love']
    >>> update = stream.append("lace wrote ")
    >>> [span.text for span in update.retracted], update.tags, update.provisional_tags
    (['Ada Love'], ['B-PER', 'I-PER'], ['O'])
    >>> [span.text for span in stream.close().spans]
    ['Ada Lovelace']
    """

    def __init__(
        self,
        tagger: "TextTagger",
        look_ahead: int | None = None,
        context: int | None = None,
        stride: int | None = None,
        max_pending: int = 1000,
    ):
        check_integers(1, max_pending=max_pending)
        self._windows = _windows(tagger, look_ahead, context, stride)
        self._tagger = tagger
        self._chain = ChainStream(*tagger._step_scores(), max_pending)
        self._text = TokenStream(tagger.tokens)  # pyright: ignore[reportArgumentType]
        self._spans = SpanReader(tagger.scheme) if tagger.scheme is not None else None
        self._shown: list[StreamSpan] = []  # provisional spans of the last update
        self._tokens: list[StreamToken] = []  # complete tokens that are still needed
        self._first = 0  # index in the stream of the first of `_tokens`
        self._num_encoded = 0  # tokens of the stream whose emissions are final
        self._num_final = 0  # tokens of the stream whose tags are final
        self._is_closed = False

    def append(self, text: str) -> StreamUpdate:
        """Reads the next part of the text.

        Args:
            text: str. The part, of any length, which may end within a token. It is joined to the
                text so far without white space.

        Returns:
            `StreamUpdate`. The tokens, tags and spans that became final, and the provisional ones.

        Raises:
            ValueError: If the stream is closed, if `text` is not a str, if the tokens that a BERT
                model encodes at once have more than `max_length` pieces, or if the model computes
                NaN or infinity.
            tf.errors.InvalidArgumentError: If the text passes these checks, but the tokens that
                the model encodes at once are more than its position embeddings.
        """
        if not isinstance(text, str):
            raise ValueError(f"`text` must be a str; got {text!r} ({type(text).__name__}).")
        self._check_open()
        complete, rest = self._text.append(text)
        self._tokens += complete
        num_complete = self._first + len(self._tokens)
        return self._update(self._windows.num_ready(self._num_encoded, num_complete), rest)

    def close(self) -> StreamUpdate:
        """Ends the text, so that all tags are final.

        Returns:
            `StreamUpdate`. The last tokens, tags and spans, all of which are final.

        Raises:
            ValueError: If the stream is already closed, if the tokens that a BERT model encodes at
                once have more than `max_length` pieces, or if the model computes NaN or infinity.
        """
        self._check_open()
        self._tokens += self._text.close()
        self._is_closed = True
        return self._update(self._first + len(self._tokens), [])

    def _check_open(self):
        if self._is_closed:
            raise ValueError("The stream is closed. Create a new one with `tagger.stream()`.")

    def _update(self, ready, rest):
        """Tags the new tokens, and returns the `StreamUpdate` for them.

        `ready` is the number of tokens, counted from the start of the stream, whose emissions are
        final. `rest` is the list of the last tokens, which the next part of the text may change.
        """
        tokens = self._tokens + rest
        emissions = self._emissions(tokens, ready)  # [N, K]
        count = ready - self._num_encoded
        self._num_encoded = ready
        tags = self._chain.append(emissions[:count])
        best = self._chain.best(emissions[count:])
        if self._is_closed:
            tags, best = tags + best, []
        final, later = ([self._tagger.names[tag] for tag in ids] for ids in (tags, best))
        spans, coming = self._new_spans(final, later, tokens)
        shown = {*spans, *coming}
        retracted = [span for span in self._shown if span not in shown]
        self._shown = coming
        texts = [token.token for token in tokens[self._num_final - self._first :]]
        self._num_final += len(final)
        self._drop_tokens()
        done, open_texts = texts[: len(final)], texts[len(final) :]
        return StreamUpdate(done, final, spans, open_texts, later, coming, retracted)

    def _emissions(self, tokens, ready):
        """Computes the emissions of all tokens whose emissions were not final before, `[N, K]`.

        `tokens` is the list of the complete and incomplete tokens that are stored. The emissions of
        tokens before the index `ready` are now final. The other emissions are provisional, and are
        computed from one window.
        """
        end = self._first + len(tokens)
        windows = self._windows.of(self._num_encoded, ready, end)
        provisional = self._windows._replace(stride=end + 1).of(ready, end, end)
        rows, kept = [], []
        for first, start, stop, last in [*windows, *provisional]:
            rows.append([t.token for t in tokens[first - self._first : last - self._first]])
            kept.append(slice(start - first, stop - first))
        found = [np.zeros([0, len(self._tagger.names)])]
        for batch in _batches(rows):
            emissions = self._tagger._emissions(rows[batch])  # [B, T, K]
            found += [row[part] for row, part in zip(emissions, kept[batch], strict=True)]
        return np.concatenate(found)

    def _new_spans(self, final, later, tokens):
        """Returns two lists of `StreamSpan`: the new final spans, and the provisional spans.

        `final` and `later` are the lists of the new final tags and of the provisional tags, and
        `tokens` are the stored tokens.
        """
        if self._spans is None:
            return [], []
        scheme = self._spans.scheme
        spans = [self._spans.read(tag_parts(tag, scheme)) for tag in final]
        reader = copy.copy(self._spans)
        coming = [reader.read(tag_parts(tag, scheme)) for tag in later] + [reader.read(NOTHING)]
        if self._is_closed:
            spans, coming = spans + coming, []
        return self._placed(spans, tokens), self._placed(coming, tokens)

    def _placed(self, spans, tokens):
        """Converts spans of token indices to a list of `StreamSpan` with text and position.

        `spans` is a list of results of `SpanReader.read`; `None` in it, for a tag that completes no
        span, is skipped. `tokens` are the stored tokens, which contain the tokens of the spans.
        """
        found = []
        for span in filter(None, spans):
            own = tokens[span.start - self._first : span.end - self._first]
            start, end = own[0].start, own[-1].end
            text = own[0].source[start - own[0].end :] + "".join(t.source for t in own[1:])
            found.append(StreamSpan(span.type, span.start, span.end, text, start, end))
        return found

    def _drop_tokens(self):
        """Removes the stored tokens that no later update needs."""
        needed = min(self._num_final, self._num_encoded - self._windows.left)
        if self._spans is not None and self._spans.start is not None:
            needed = min(needed, self._spans.start)
        if needed > self._first:
            self._tokens = self._tokens[needed - self._first :]
            self._first = needed


class _Windows(NamedTuple):
    """Sizes of the windows, which are the groups of tokens that the model encodes at once.

    A window contains `stride` tokens, whose emissions are computed from the window, and up to
    `left` tokens before and `right` tokens after these tokens. If `on_grid` is `True`, emissions
    become final for `stride` tokens at a time, so that they do not depend on how the text is split
    into parts.
    """

    left: int
    right: int
    stride: int
    on_grid: bool

    def num_ready(self, num_encoded: int, num_tokens: int) -> int:
        """Returns how many of the `num_tokens` complete tokens of a stream have final emissions.

        `num_encoded` is the number of tokens whose emissions are already final.
        """
        ready = num_tokens - self.right
        return max(num_encoded, ready - ready % self.stride if self.on_grid else ready)

    def of(self, start: int, stop: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        """Yields the windows from which the emissions of the tokens `start` to `stop` are computed.

        Each window is a tuple of four token indices: the start of the window, the start and the end
        of the tokens whose emissions are computed from it, and the end of the window. Ends are
        exclusive, and at most `end`, the number of tokens that exist.
        """
        for first in range(start, stop, self.stride):
            after = min(first + self.stride, stop)
            yield max(0, first - self.left), first, after, min(after + self.right, end)


def _windows(tagger, look_ahead, context, stride):
    """Checks the options of a stream, and returns the sizes of its windows as `_Windows`.

    Raises a ValueError if the model reads stored vectors, or if an option is missing, not valid or
    does not apply to the encoder.
    """
    given = {"look_ahead": look_ahead, "context": context, "stride": stride}
    if tagger.model._reads_vectors:
        raise ValueError(
            "A stream needs a model that reads only text, but this model reads vectors that "
            "`tfreps embed` stored. Train the model on the biLM itself instead of stored vectors."
        )
    encoder = type(getattr(tagger.model, "encoder", tagger.model)).__name__
    known = tagger.model._window
    if known is not None:
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"`{name}` does not apply to a model on a {encoder}, which always reads "
                    f"{known[0]} tokens before and {known[1]} after each token; got {value}. Omit "
                    f"`{name}`."
                )
        left, right = known
        return _Windows(left, right, WINDOW_TOKENS, on_grid=False)
    if look_ahead is None or context is None:
        raise ValueError(
            f"`look_ahead` and `context` must be numbers of tokens for a model on a {encoder}, "
            f"which reads the whole sentence; got {look_ahead} and {context}. Pass for example "
            "`look_ahead=8, context=64`; the tags are then an approximation."
        )
    stride = 1 if stride is None else stride
    check_integers(0, look_ahead=look_ahead, context=context)
    check_integers(1, stride=stride)
    return _Windows(context, look_ahead, stride, on_grid=True)


def _batches(rows: Sequence[Sequence[str]]) -> Iterator[slice]:
    """Yields slices of `rows`, each of which is encoded as one batch.

    A row is the list of the tokens of a window. A batch has at most `BATCH_TOKENS` tokens,
    including padding, unless it consists of one row.
    """
    start = longest = 0
    for end, row in enumerate(rows):
        longest = max(longest, len(row))
        if end > start and (end - start + 1) * longest > BATCH_TOKENS:
            yield slice(start, end)
            start, longest = end, len(row)
    if len(rows) > start:
        yield slice(start, len(rows))
