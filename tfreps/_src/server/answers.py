"""as_lines: formats the answer of a tagger, classifier or any other model as text."""

import unicodedata

MOST_LABELS = 5
MOST_NUMBERS = 5


def as_lines(text: str, answer: dict) -> list[str]:
    """Formats the answer of a model as lines of text.

    Answers of exported taggers (with `tokens`, `tags` and `sequence_len`) and classifiers (with
    `label`) have their own formats. For other models, each output is shown with its shape and first
    values.

    Args:
        text: str. The text that was sent to the model.
        answer: dict from output names to numbers, strings or nested lists, for one text.

    Returns:
        A list of str: `text`, followed by the indented lines of the answer.

    Example:
    >>> answer = {"tokens": ["Ada", "spoke"], "tags": ["B-PER", "O"], "confidences": [0.98, 1.0]}
    >>> spans = {"num_spans": 1, "span_types": ["PER"], "span_starts": [0], "span_ends": [1]}
    >>> print("\\n".join(as_lines("Ada spoke", {**answer, "sequence_len": 2, **spans})))
    Ada spoke
      Ada    B-PER  98.0 %
      spoke  O     100.0 %
      PER: Ada
    """
    length = answer.get("sequence_len")
    if {"tokens", "tags"} <= answer.keys() and isinstance(length, int):
        lines = tag_lines(answer, length)
    elif "label" in answer:
        lines = label_lines(answer)
    else:
        lines = [f"{name}: {shown(value)}" for name, value in sorted(answer.items())]
    return [text, *(f"  {line}" for line in lines)]


def tag_lines(answer, length):
    """Yields one line per token with its tag, and one per span."""
    tokens = answer["tokens"][:length]
    tags = answer["tags"][:length]
    shares = answer.get("confidences", [])[:length]
    wide = max(map(width, tokens), default=0)
    long = max(map(len, tags), default=0)
    for place, (token, tag) in enumerate(zip(tokens, tags, strict=True)):
        line = f"{token}{' ' * (wide - width(token))}  {tag:{long}}"
        share = f" {shares[place]:6.1%}".replace("%", " %") if shares else ""
        yield line + share.rstrip()
    spans = (answer.get(f"span_{part}", []) for part in ("types", "starts", "ends"))
    for number, (kind, start, end) in enumerate(zip(*spans, strict=True)):
        if number < answer.get("num_spans", 0):
            yield f"{kind}: {' '.join(tokens[start:end])}"


def label_lines(answer):
    """Yields the predicted label and the next most probable ones, with their probabilities."""
    yield f"{answer['label']}{percent(answer.get('probability'))}"
    labels = answer.get("labels", [])
    shares = answer.get("probabilities", [])
    ranked = sorted(zip(shares, labels, strict=False), reverse=True)
    for share, label in ranked[1:MOST_LABELS]:
        yield f"{label}{percent(share)}"


def percent(share):
    return "" if share is None else f" {share:.1%}".replace("%", " %")


def shown(value):
    """Formats a value for display. Nested lists are shown as their shape and first values."""
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


def one(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def width(text):
    """Returns the width of a text in terminal columns: 2 per Chinese character, 0 per accent."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )
