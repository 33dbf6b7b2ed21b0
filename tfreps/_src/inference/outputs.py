"""Outputs of trained models: tags, spans, labels, vectors and attention."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfreps._src.inference.span_html import Mark, text_html
from tfreps._src.text.tags.tag_schemes import Scheme

DIGITS = 4  # decimal places of the probabilities in `repr`
MOST_SHOWN = 12  # elements of a list or dict in `repr`


class TextSpan(NamedTuple):
    """Span of tokens in a tagged text.

    Attributes:
        type: str. Type of the span, such as `"PER"`.
        start: int. Index of the first token of the span.
        end: int. End index, exclusive: the tokens of the span are `tokens[start:end]`.
        text: str. The part of the raw text from the first to the last token of the span,
            `text[start_char:end_char]`. If the input was a list of tokens, `text` consists of the
            tokens of the span joined by spaces.
        confidence: float. The posterior probability of the span: the sum of the probabilities of
            all tag sequences that contain it with exactly this type, start and end.
        start_char: int or None. Position of the first character of the span in the raw text, in
            Unicode code points, as in a Python str. It is `None` if the input was a list of tokens.
            Defaults to `None`.
        end_char: int or None. End position, exclusive. Defaults to `None`.

    Example:
    >>> TextSpan("PER", 0, 1, "Ada", 0.98765, 3, 6).asdict(digits=2)
    {'type': 'PER', 'start': 0, 'end': 1, 'start_char': 3, 'end_char': 6, 'text': 'Ada', \
'confidence': 0.99}
    """

    type: str
    start: int
    end: int
    text: str
    confidence: float
    start_char: int | None = None
    end_char: int | None = None

    def asdict(self, digits: int | None = None) -> dict[str, Any]:
        """Converts the span to a dict for JSON or a data frame, with the attributes as keys.

        Args:
            digits: int. Number of decimal places that the confidence is rounded to. If `None`, it
                is not rounded. Defaults to `None`.

        Returns:
            dict of str, int and float, with `None` for `start_char` and `end_char` if they are
            unknown.
        """
        names = "type", "start", "end", "start_char", "end_char", "text"
        found = {name: getattr(self, name) for name in names}
        return {**found, "confidence": _rounded(self.confidence, digits)}

    def __repr__(self) -> str:
        place = f", start_char={self.start_char}, end_char={self.end_char}"
        place = "" if self.start_char is None else place
        return (
            f"TextSpan(type={self.type!r}, start={self.start}, end={self.end}, "
            f"text={self.text!r}, confidence={round(self.confidence, DIGITS)}{place})"
        )


@dataclasses.dataclass(frozen=True, repr=False)
class TaggedText:
    """Output of a tagger for one text.

    A notebook shows the text with its spans in colors, each followed by its type. If the tags have
    no scheme, it shows the tokens, separated by spaces, each followed by its tag.

    Attributes:
        tokens: list of str. The tagged tokens.
        tags: list of str. The tag of each token.
        confidences: list of float. The probability of each tag in `tags`.
        scheme: str or None. Tag scheme of the spans, such as `"bio"`. If `None`, the tags have no
            spans. Defaults to `None`.
        text: str or None. The raw text. It is `None` if the input was a list of tokens. Defaults
            to `None`.
        spans: list of `TextSpan`. The spans from left to right. It is empty if `scheme` is `None`.
            Defaults to an empty list.

    Example:
    >>> span = TextSpan("PER", 0, 1, "Ada", 0.98765)
    >>> tagged = TaggedText(["Ada", "lived"], ["B-PER", "O"], [0.98765, 0.5], "bio", spans=[span])
    >>> tagged.spans
    [TextSpan(type='PER', start=0, end=1, text='Ada', confidence=0.9877)]
    >>> list(tagged.asdict())
    ['tokens', 'tags', 'confidences', 'spans']
    """

    tokens: list[str]
    tags: list[str]
    confidences: list[float]
    scheme: Scheme | None = None
    text: str | None = None
    spans: list[TextSpan] = dataclasses.field(default_factory=list)

    def asdict(self, digits: int | None = None) -> dict[str, Any]:
        """Converts the output to a dict for JSON or a data frame.

        Args:
            digits: int. Number of decimal places that confidences are rounded to. If `None`, they
                are not rounded. Defaults to `None`.

        Returns:
            dict with `text` (only if the input was raw text), `tokens`, `tags`, `confidences` and,
            with a tag scheme, `spans`, a list of the dicts that `TextSpan.asdict` returns.
        """
        found: dict[str, Any] = {} if self.text is None else {"text": self.text}
        found |= {"tokens": list(self.tokens), "tags": list(self.tags)}
        found["confidences"] = [_rounded(share, digits) for share in self.confidences]
        if self.scheme is not None:
            found["spans"] = [span.asdict(digits) for span in self.spans]
        return found

    def _repr_html_(self) -> str:
        text, marks = self.text, []
        if text is None or self.scheme is None:
            text = " ".join(self.tokens)
        if self.scheme is None:
            ends = list(itertools.accumulate(len(token) + 1 for token in self.tokens))
            starts = [0, *ends]
            rows = zip(starts, ends, self.tags, self.confidences, strict=False)
            marks = [_mark(start, end - 1, tag, share) for start, end, tag, share in rows]
        for span in self.spans:
            start, end = span.start_char, span.end_char
            if start is None or end is None:  # the input was a list of tokens
                start = len(" ".join([*self.tokens[: span.start], ""]))
                end = start + len(" ".join(self.tokens[span.start : span.end]))
            marks.append(_mark(start, end, span.type, span.confidence))
        return text_html(text, marks)

    def __repr__(self) -> str:
        shares = [round(share, DIGITS) for share in self.confidences]
        more = "" if self.scheme is None else f", spans={_shown(self.spans)}"
        return (
            f"TaggedText(tokens={_shown(self.tokens)}, tags={_shown(self.tags)}, "
            f"confidences={_shown(shares)}{more})"
        )


class ClassifiedText(NamedTuple):
    """Output of a classifier for one text.

    Attributes:
        label: str. The most probable label.
        probabilities: dict from each label to its probability.
        text: str or None. The raw text. It is `None` if the input was a list of tokens. Defaults
            to `None`.
        confidence: float. The probability of `label`.

    Example:
    >>> output = ClassifiedText("good", {"bad": 0.11920292, "good": 0.88079708})
    >>> output
    ClassifiedText(label='good', probabilities={'bad': 0.1192, 'good': 0.8808})
    >>> output.confidence
    0.88079708
    >>> output.asdict(digits=2)
    {'label': 'good', 'confidence': 0.88, 'probabilities': {'bad': 0.12, 'good': 0.88}}
    """

    label: str
    probabilities: dict[str, float]
    text: str | None = None

    @property
    def confidence(self) -> float:
        """Probability of `label`."""
        return self.probabilities[self.label]

    def asdict(self, digits: int | None = None) -> dict[str, Any]:
        """Converts the output to a dict for JSON or a data frame.

        Args:
            digits: int. Number of decimal places that probabilities are rounded to. If `None`, they
                are not rounded. Defaults to `None`.

        Returns:
            dict with `text` (only if the input was raw text), `label`, `confidence` and
            `probabilities`.
        """
        found: dict[str, Any] = {} if self.text is None else {"text": self.text}
        shares = {name: _rounded(share, digits) for name, share in self.probabilities.items()}
        return {
            **found,
            "label": self.label,
            "confidence": shares[self.label],
            "probabilities": shares,
        }

    def __repr__(self) -> str:
        shares = {name: round(share, DIGITS) for name, share in self.probabilities.items()}
        return f"ClassifiedText(label={self.label!r}, probabilities={_shown(shares)})"


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

    Example:
    >>> output = TextVectors(["a", "dog"], np.zeros([2, 1], "float32"))
    >>> output
    TextVectors(tokens=['a', 'dog'], vectors=float32 [2, 1])
    >>> output.asdict()
    {'tokens': ['a', 'dog'], 'vectors': [[0.0], [0.0]]}
    """

    tokens: list[str]
    vectors: np.ndarray
    pooled: np.ndarray | None = None

    def asdict(self) -> dict[str, Any]:
        """Converts the output to a dict for JSON, in which arrays are nested lists of float.

        Returns:
            dict with `tokens`, `vectors` and, if the model has a pooler, `pooled`.
        """
        found = {"tokens": list(self.tokens), "vectors": self.vectors.tolist()}
        return found if self.pooled is None else {**found, "pooled": self.pooled.tolist()}

    def __repr__(self) -> str:
        pooled = "" if self.pooled is None else f", pooled={_kind(self.pooled)}"
        return f"TextVectors(tokens={_shown(self.tokens)}, vectors={_kind(self.vectors)}{pooled})"


class TextEmbeddings(NamedTuple):
    """Vectors of texts, one for each text.

    Attributes:
        texts: list of str, or str. The texts, or the text if the model was called on one text.
        vectors: float32 array of shape `[N, D]`, or `[D]` for one text.

    Example:
    >>> output = TextEmbeddings(["a dog", "a cat"], np.zeros([2, 3], "float32"))
    >>> output
    TextEmbeddings(texts=['a dog', 'a cat'], vectors=float32 [2, 3])
    >>> output.asdict()["vectors"]
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """

    texts: list[str] | str
    vectors: np.ndarray

    def asdict(self) -> dict[str, Any]:
        """Converts the output to a dict for JSON, in which arrays are nested lists of float.

        Returns:
            dict with `texts` and `vectors`.
        """
        texts = self.texts if isinstance(self.texts, str) else list(self.texts)
        return {"texts": texts, "vectors": self.vectors.tolist()}

    def __repr__(self) -> str:
        texts = repr(self.texts) if isinstance(self.texts, str) else _shown(self.texts)
        return f"TextEmbeddings(texts={texts}, vectors={_kind(self.vectors)})"


class TextAttention(NamedTuple):
    """Attention of a Transformer for one text.

    Attributes:
        tokens: list of str. The tokens of the text, including special tokens.
        probabilities: float32 array of shape `[L, H, T, T]` (layer, head, from, to). Each row sums
            to 1.
    """

    tokens: list[str]
    probabilities: np.ndarray

    def asdict(self) -> dict[str, Any]:
        """Converts the output to a dict for JSON, in which the array is a nested list of float.

        Returns:
            dict with `tokens` and `probabilities`.
        """
        return {"tokens": list(self.tokens), "probabilities": self.probabilities.tolist()}

    def __repr__(self) -> str:
        shares = _kind(self.probabilities)
        return f"TextAttention(tokens={_shown(self.tokens)}, probabilities={shares})"


def _mark(start: int, end: int, label: str, share: float) -> Mark:
    return Mark(start, end, label, f"{label} {share:.{DIGITS}f}")


def _rounded(share: float, digits: int | None) -> float:
    return float(share) if digits is None else round(float(share), digits)


def _kind(array: np.ndarray) -> str:
    """Returns the type and the shape of an array as text, such as `float32 [2, 8]`."""
    return f"{array.dtype} {list(array.shape)}"


def _shown(values: Sequence | Mapping) -> str:
    """Returns a list or dict as text, with at most its first `MOST_SHOWN` elements."""
    pairs = isinstance(values, Mapping)
    parts: Iterable[str] = map(repr, values)
    if isinstance(values, Mapping):
        parts = (f"{key!r}: {value!r}" for key, value in values.items())
    shown = [part for _, part in zip(range(MOST_SHOWN), parts, strict=False)]
    shown += [f"... {len(values) - MOST_SHOWN} more"] * (len(values) > MOST_SHOWN)
    return f"{{{', '.join(shown)}}}" if pairs else f"[{', '.join(shown)}]"
