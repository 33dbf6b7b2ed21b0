"""Outputs of trained models: tags, spans, labels, vectors and attention."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from tfreps._src.text.tags import spans

DIGITS = 4  # decimal places of the probabilities in `repr`


class TextSpan(NamedTuple):
    """Span of tokens in a tagged text.

    Attributes:
        type: str. Type of the span, such as `"PER"`.
        start: int. Index of the first token of the span.
        end: int. Index of the last token of the span plus 1.
        text: str. The part of the raw text from the first to the last token of the span. If there
            is no raw text, or if the tagged tokens do not occur in it in this order, `text`
            consists of the tokens of the span joined by spaces.
        confidence: float. The lowest confidence of the tokens of the span.
    """

    type: str
    start: int
    end: int
    text: str
    confidence: float

    def __repr__(self):
        return (
            f"TextSpan(type={self.type!r}, start={self.start}, end={self.end}, "
            f"text={self.text!r}, confidence={round(self.confidence, DIGITS)})"
        )


@dataclasses.dataclass(frozen=True, repr=False)
class TaggedText:
    """Output of a tagger for one text.

    Attributes:
        tokens: list of str. The tagged tokens.
        tags: list of str. The tag of each token.
        confidences: list of float. The probability of each tag in `tags`.
        scheme: str or None. Tag scheme of the spans, such as `"bio"`. If `None`, the tags have no
            spans. Defaults to `None`.
        text: str or None. The raw text. It is `None` if the input was a list of tokens. Defaults
            to `None`.
        spans: list of `TextSpan`. The spans from left to right. It is empty if `scheme` is `None`.

    Example:
    >>> TaggedText(["Ada", "lived"], ["B-PER", "O"], [0.98765, 0.5], "bio").spans
    [TextSpan(type='PER', start=0, end=1, text='Ada', confidence=0.9877)]
    """

    tokens: list[str]
    tags: list[str]
    confidences: list[float]
    scheme: str | None = None
    text: str | None = None

    @functools.cached_property
    def spans(self) -> list[TextSpan]:
        """Spans of the tags, computed on first access."""
        if self.scheme is None:
            return []
        places = None if self.text is None else token_places(self.text, self.tokens)
        found = []
        for kind, start, end in spans(self.tags, self.scheme):
            if places is None:
                text = " ".join(self.tokens[start:end])
            else:
                text = self.text[places[start][0] : places[end - 1][1]]
            confidence = min(self.confidences[start:end])
            found.append(TextSpan(kind, start, end, text, confidence))
        return found

    def __repr__(self):
        shares = [round(share, DIGITS) for share in self.confidences]
        more = "" if self.scheme is None else f", spans={self.spans}"
        return f"TaggedText(tokens={self.tokens}, tags={self.tags}, confidences={shares}{more})"


class ClassifiedText(NamedTuple):
    """Output of a classifier for one text.

    Attributes:
        label: str. The most probable label.
        probabilities: dict from each label to its probability.
        confidence: float. The probability of `label`.

    Example:
    >>> answer = ClassifiedText("good", {"bad": 0.11920292, "good": 0.88079708})
    >>> answer
    ClassifiedText(label='good', probabilities={'bad': 0.1192, 'good': 0.8808})
    >>> answer.confidence
    0.88079708
    """

    label: str
    probabilities: dict[str, float]

    @property
    def confidence(self) -> float:
        """Probability of `label`."""
        return self.probabilities[self.label]

    def __repr__(self):
        shares = {name: round(share, DIGITS) for name, share in self.probabilities.items()}
        return f"ClassifiedText(label={self.label!r}, probabilities={shares})"


class TextVectors(NamedTuple):
    """Vectors of one text.

    Attributes:
        tokens: list of str. The tokens that the model read.
        vectors: float32 array. For a biLM, the vectors of all layers, of shape `[L + 1, T, D]`,
            with the token vectors first. For a BERT model, the outputs of the last layer, of shape
            `[T, D]`.
        pooled: float32 array of shape `[D]`, or None. The pooled output of a BERT model with a
            pooler, which is one vector for the whole text. It is `None` for other models. Defaults
            to `None`.
    """

    tokens: list[str]
    vectors: Any
    pooled: Any = None

    def __repr__(self):
        kind = f"{self.vectors.dtype} {list(self.vectors.shape)}"
        pooled = "" if self.pooled is None else f", pooled={self.pooled.dtype} "
        pooled += "" if self.pooled is None else str(list(self.pooled.shape))
        return f"TextVectors(tokens={self.tokens}, vectors={kind}{pooled})"


class TextAttention(NamedTuple):
    """Attention of a Transformer for one text.

    Attributes:
        tokens: list of str. The tokens of the text, including special tokens.
        probabilities: float32 array of shape `[L, H, T, T]` (layer, head, from, to). Each row sums
            to 1.
    """

    tokens: list[str]
    probabilities: Any


def token_places(text: str, tokens: Sequence[str]) -> list[tuple[int, int]] | None:
    """Returns the `(start, end)` of each token in a text, or `None` if not all occur in order.

    Example:
    >>> token_places("Ada, here.", ["Ada", ",", "here", "."])
    [(0, 3), (3, 4), (5, 9), (9, 10)]
    """
    places = []
    end = 0
    for token in tokens:
        start = text.find(token, end)
        if start < 0:
            return None
        end = start + len(token)
        places.append((start, end))
    return places
