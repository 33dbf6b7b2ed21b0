"""Answers of trained models as plain Python objects: tags and spans, labels, vectors, attention."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from tfreps.text.tags import spans

DIGITS = 4  # of a probability that is shown


class TextSpan(NamedTuple):
    """A span of tagged text.

    `type` is what it is, `start` and `end` (exclusive) are numbers of tokens, `text` is the part of
    the raw text from its first token to its last, and `confidence` is the lowest of its tokens'.
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
    """The answer of a tagger to one text.

    Attributes:
        tokens: list of str. The tokens that were tagged.
        tags: list of str. The tag of each token.
        confidences: list of float. The probability of each of these tags.
        scheme: str or None. How the tags write spans, see `tfreps.text.tags`.
        text: str or None. The raw text; None where tokens were given.
        spans: list of `TextSpan`, from left to right; empty without a scheme.

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
        """The spans of the tags, computed when they are first asked for."""
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
    """The answer of a classifier to one text: the label, and the probabilities of all labels.

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
        """The probability of the label."""
        return self.probabilities[self.label]

    def __repr__(self):
        shares = {name: round(share, DIGITS) for name, share in self.probabilities.items()}
        return f"ClassifiedText(label={self.label!r}, probabilities={shares})"


class TextVectors(NamedTuple):
    """The vectors of one text.

    `tokens` are those that the model read. `vectors` is float32: `[L + 1, T, D]` of a biLM, all
    layers, the token layer first; `[T, D]` of a BERT. `pooled` is float32 `[D]`, one vector for the
    text, of a BERT with a pooler; else None.
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
    """The tokens of a text, special ones included, and who reads whom: `[L, H, T, T]`."""

    tokens: list[str]
    probabilities: Any


def token_places(text: str, tokens: Sequence[str]) -> list[tuple[int, int]] | None:
    """The first character of each token in its text, and the one after its last.

    Returns:
        list of pairs; None if the tokens are not parts of the text, in its order.

    Example:
    >>> token_places("Ada, here.", ["Ada", ",", "here", "."])
    [(0, 3), (3, 4), (5, 9), (9, 10)]
    """
    places, end = [], 0
    for token in tokens:
        start = text.find(token, end)
        if start < 0:
            return None
        end = start + len(token)
        places.append((start, end))
    return places
