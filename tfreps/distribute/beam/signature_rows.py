"""Splits the outputs of a signature into one dict of plain values per text.

Beam's workers run this file without an installation of tfreps.
"""

from collections.abc import Sequence

import numpy as np

SPANS = "span_types", "span_starts", "span_ends"


def signature_rows(
    outputs: dict[str, np.ndarray], names: list[str], texts: Sequence[str | list[str]] = ()
) -> list[dict]:
    """Returns a dict for each text, without the padding of the batch.

    Args:
        outputs: dict of arrays whose first axis is the texts `[N, ...]`. Strings are bytes.
        names: list of str. Outputs to return. `"spans"` stands for the four outputs that describe
            the spans of a tagger. The name of an output that has an axis for tokens may be followed
            by `":T"`; the axis is then cut to the `sequence_len` of each text.
        texts: sequence of N str or lists of tokens. The inputs, of which spans contain a part.
            Needed only for `"spans"`. Defaults to `()`.

    Returns:
        list of N dicts. Strings are str. Numbers of rank 0 are int or float, and arrays of numbers
        stay arrays. A span is a dict with `type`, `start`, `end` (exclusive), `tokens`, `text` and
        `confidence`. `text` is the part of the text that the span covers, or the tokens joined by
        spaces if the tokens do not occur in the text.

    Example:
    >>> outputs = {"tags": np.array([[b"NOUN", b""], [b"VERB", b"NOUN"]], object)}
    >>> outputs["sequence_len"] = np.array([1, 2])
    >>> signature_rows(outputs, ["tags:T"])
    [{'tags': ['NOUN']}, {'tags': ['VERB', 'NOUN']}]
    """
    columns = {}
    for name in names:
        if name == "spans":
            columns[name] = _spans(outputs, texts)
        else:
            plain, _, cut = name.partition(":")
            columns[plain] = _column(outputs, plain, bool(cut))
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, values, strict=True)) for values in rows]


def _column(outputs, name, cut):
    array = outputs[name]
    rows = _text(array.tolist()) if array.dtype == object else array
    if array.ndim == 1:
        return rows if array.dtype == object else array.tolist()
    if cut:
        return [row[:n] for row, n in zip(rows, outputs["sequence_len"].tolist(), strict=True)]
    return list(rows)


def _spans(outputs, texts):
    types, starts, ends = (_text(outputs[name].tolist()) for name in SPANS)  # each [N, S]
    tokens = _text(outputs["tokens"].tolist())  # [N, T]
    return [
        [
            {"type": types[n][s], "start": starts[n][s], "end": ends[n][s]}
            | {"tokens": tokens[n][starts[n][s] : ends[n][s]]}
            | {"text": _span_text(texts[n], tokens[n], starts[n][s], ends[n][s])}
            | {"confidence": float(outputs["confidences"][n, starts[n][s] : ends[n][s]].min())}
            for s in range(count)
        ]
        for n, count in enumerate(outputs["num_spans"].tolist())
    ]


def _span_text(text, tokens, start, end):
    """Returns the part of the text that a span covers; joins tokens that are not in the text."""
    places = [0]
    for token in tokens[:end]:
        place = text.find(token, places[-1]) if isinstance(text, str) else -1
        if place < 0:
            return " ".join(tokens[start:end])
        places += place, place + len(token)
    return text[places[2 * start + 1] : places[-1]]


def _text(value):
    """Decodes the strings of nested lists."""
    if isinstance(value, list):
        return [_text(each) for each in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
