"""as_lines: formats the outputs of a tagger, classifier or any other model as text."""

import unicodedata
from collections.abc import Iterator
from typing import Any

MOST_LABELS = 5
MOST_NUMBERS = 5


def as_lines(text: str, outputs: dict[str, Any]) -> list[str]:
    """Formats the outputs of a model as lines of text.

    Outputs of exported taggers (with `tokens`, `tags` and `sequence_len`) and classifiers (with
    `label`) have their own formats. For other models, each output is shown with its shape and first
    values.

    Args:
        text: str. The text that was sent to the model.
        outputs: dict from output names to numbers, strings or nested lists, for one text.

    Returns:
        list of str: `text`, followed by the indented lines of the outputs.

    Example:
    >>> outputs = {"tokens": ["Ada", "spoke"], "tags": ["B-PER", "O"], "confidences": [0.98, 1.0]}
    >>> spans = {"num_spans": 1, "span_types": ["PER"]}
    >>> spans |= {"span_start_chars": [0], "span_end_chars": [3]}
    >>> print("\\n".join(as_lines("Ada spoke", {**outputs, "sequence_len": 2, **spans})))
    Ada spoke
      Ada    B-PER  98.0%
      spoke  O     100.0%
      PER: Ada
    """
    length = outputs.get("sequence_len")
    if {"tokens", "tags"} <= outputs.keys() and isinstance(length, int):
        lines = tag_lines(text, outputs, length)
    elif "label" in outputs:
        lines = label_lines(outputs)
    else:
        lines = [f"{name}: {shown(value)}" for name, value in sorted(outputs.items())]
    return [text, *(f"  {line}" for line in lines)]


def tag_lines(text: str, outputs: dict[str, Any], length: int) -> Iterator[str]:
    """Yields a line with the tag of each token, and a line with the text of each span.

    `length` is the number of tokens; `outputs` may contain padding after them.
    """
    tokens = outputs["tokens"][:length]
    tags = outputs["tags"][:length]
    shares = outputs.get("confidences", [])[:length]
    wide = max(map(width, tokens), default=0)
    long = max(map(len, tags), default=0)
    for position, (token, tag) in enumerate(zip(tokens, tags, strict=True)):
        line = f"{token}{' ' * (wide - width(token))}  {tag:{long}}"
        share = f" {shares[position]:6.1%}" if shares else ""
        yield line + share.rstrip()
    for number in range(outputs.get("num_spans", 0)):
        kind = outputs["span_types"][number]
        ends = outputs["span_start_chars"][number], outputs["span_end_chars"][number]
        yield f"{kind}: {text[slice(*ends)]}"


def label_lines(outputs: dict[str, Any]) -> Iterator[str]:
    """Yields a line with each of up to 5 labels and its probability, the most probable first."""
    yield f"{outputs['label']}{percent(outputs.get('probability'))}"
    labels = outputs.get("labels", [])
    shares = outputs.get("probabilities", [])
    ranked = sorted(zip(shares, labels, strict=False), reverse=True)
    for share, label in ranked[1:MOST_LABELS]:
        yield f"{label}{percent(share)}"


def percent(share: float | None) -> str:
    return "" if share is None else f" {share:.1%}"


def shown(value: Any) -> str:
    """Returns a value as text. A nested list is abbreviated to its shape and first 5 values."""
    shape = []
    first = value
    while isinstance(first, list):
        shape.append(len(first))
        if not first or not isinstance(first[0], list):
            break
        first = first[0]
    if not shape:
        return one(value)
    dots = " ..." if len(first) > MOST_NUMBERS or len(shape) > 1 else ""
    return f"{shape} {' '.join(map(one, first[:MOST_NUMBERS]))}{dots}"


def one(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def width(text: str) -> int:
    """Returns the number of terminal columns that a text takes.

    Wide characters, such as Chinese ones, take 2 columns, and combining accents take none.
    """
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )
