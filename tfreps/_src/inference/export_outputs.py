"""Calls signatures of exported SavedModels, and splits the outputs into rows.

Beam's workers run this file without an installation of tfreps.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

SPANS = "span_types", "span_starts", "span_ends"
CHARACTERS = "span_start_chars", "span_end_chars"
# Outputs of a signature that `signature_rows` combines instead of returning them by name.
PARTS = *SPANS, *CHARACTERS, "span_confidences", "num_spans", "sequence_len"


def call_signature(
    function: Any, texts: Sequence[str] | Sequence[Sequence[str]]
) -> dict[str, np.ndarray]:
    """Calls a signature of a SavedModel with texts or tokens, and returns its outputs.

    Args:
        function: The signature `default` or `tokens` of a loaded SavedModel.
        texts: list of N str for a signature that reads text, otherwise list of N lists of tokens.

    Returns:
        dict of NumPy arrays `[N, ...]`.
    """
    if "text" in function.structured_input_signature[1]:
        outputs = function(text=tf.constant(texts, tf.string))
    else:
        longest = max(map(len, texts))
        padded = [[*tokens, *[""] * (longest - len(tokens))] for tokens in texts]
        tokens = tf.reshape(tf.constant(padded, tf.string), [len(texts), longest])
        lengths = tf.constant([len(tokens) for tokens in texts], tf.int32)
        outputs = function(tokens=tokens, sequence_len=lengths)
    return {name: value.numpy() for name, value in outputs.items()}


def output_names(shapes: Mapping[str, Sequence[int | None]]) -> list[str]:
    """Returns the list of all outputs of a signature, for the argument `names` of `signature_rows`.

    An output with an axis for tokens is followed by `":T"`, and all outputs that describe spans are
    replaced with the name `"spans"`.

    Args:
        shapes: dict from output names to shapes, in which the sizes that vary are `None`.

    Example:
    >>> output_names({"default": (None, 8), "elmo": (None, None, 8), "sequence_len": (None,)})
    ['default', 'elmo:T']
    """
    names = [
        f"{name}:T" if len(shape) > 1 and shape[1] is None else name
        for name, shape in shapes.items()
        if name not in PARTS
    ]
    return [*names, *(["spans"] if "num_spans" in shapes else [])]


def signature_rows(
    outputs: Mapping[str, np.ndarray],
    names: Sequence[str],
    texts: Sequence[str | Sequence[str]] = (),
) -> list[dict[str, Any]]:
    """Returns a dict of the outputs for each text, without the padding of the batch.

    Args:
        outputs: dict of arrays of shape `[N, ...]`, where N is the number of texts. Strings are
            bytes.
        names: list of str. Outputs to return. `"spans"` selects all outputs that describe the
            spans of a tagger. The name of an output that has an axis for tokens may be followed
            by `":T"`; the axis is then truncated to the `sequence_len` of each text.
        texts: sequence of N str or lists of tokens. The inputs, from which the texts of the spans
            are taken. Needed only for `"spans"`. Defaults to `()`.

    Returns:
        list of N dicts. Strings are str. Numbers of rank 0 are int or float, and arrays of numbers
        stay arrays. A span is a dict with `type`, `start`, `end` (exclusive), `start_char`,
        `end_char`, `tokens`, `text` and `confidence`, as in `TextSpan`. A signature that takes
        tokens has no positions of characters: `start_char` and `end_char` are then `None`, and
        `text` consists of the tokens.

    Example:
    >>> import numpy as np
    >>> outputs = {"tags": np.array([[b"NOUN", b""], [b"VERB", b"NOUN"]], object)}
    >>> outputs["sequence_len"] = np.array([1, 2])
    >>> signature_rows(outputs, ["tags:T"])
    [{'tags': ['NOUN']}, {'tags': ['VERB', 'NOUN']}]
    """
    columns: dict[str, Any] = {}
    for name in names:
        plain, _, cut = name.partition(":")
        columns[plain] = _spans(outputs, texts) if name == "spans" else _column(outputs, plain, cut)
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, values, strict=True)) for values in rows]


def _column(outputs: Mapping[str, np.ndarray], name: str, cut: str) -> Any:
    array = outputs[name]
    rows = _text(array.tolist()) if array.dtype == object else array
    if array.ndim == 1:
        return rows if array.dtype == object else array.tolist()
    if cut:
        return [row[:n] for row, n in zip(rows, outputs["sequence_len"].tolist(), strict=True)]
    return list(rows)


def _spans(
    outputs: Mapping[str, np.ndarray], texts: Sequence[str | Sequence[str]]
) -> list[list[dict[str, Any]]]:
    parts = [_text(outputs[name].tolist()) for name in SPANS]  # each [N, S]
    tokens = _text(outputs["tokens"].tolist())  # [N, T]
    found = []
    for n, count in enumerate(outputs["num_spans"].tolist()):
        row = []
        for number in range(count):
            kind, start, end = (part[n][number] for part in parts)
            place: list[int | None] = [None, None]
            text = " ".join(tokens[n][start:end])
            if CHARACTERS[0] in outputs:
                place = [int(outputs[name][n, number]) for name in CHARACTERS]
                text = texts[n][slice(*place)]
            span = {"type": kind, "start": start, "end": end}
            span |= {"start_char": place[0], "end_char": place[1]}
            span |= {"tokens": tokens[n][start:end], "text": text}
            row.append({**span, "confidence": float(outputs["span_confidences"][n, number])})
        found.append(row)
    return found


def _text(value: Any) -> Any:
    """Returns a copy of nested lists, in which bytes are decoded to str."""
    if isinstance(value, list):
        return [_text(each) for each in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
