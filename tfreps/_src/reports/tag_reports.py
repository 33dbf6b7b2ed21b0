"""Computes reports on spans, tags and labels, and formats them as tables."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from tfreps._src.reports.binary_scores import Scores, check_lengths, scores_of_counts
from tfreps._src.text.tags import tag_sequences
from tfreps._src.text.tags.tag_schemes import Scheme, SpanMode


class SpanReport(TypedDict):
    """Result of `span_report`: scores of each span type, of all spans, and means over types."""

    types: dict[str, Scores]
    micro: Scores
    macro: Scores


class LabelReport(TypedDict):
    """Result of `classification_report`: accuracy, scores of each label, and mean scores."""

    accuracy: float
    labels: dict[str, Scores]
    macro: Scores
    weighted: Scores


class TransitionReport(TypedDict):
    """Result of `illegal_transition_report`: numbers of transitions and sentences."""

    illegal: int
    transitions: int
    sentences: int


def span_report(
    y_true: Sequence[Sequence[str]],
    y_pred: Sequence[Sequence[str]],
    scheme: Scheme,
    mode: SpanMode = "strict",
) -> SpanReport:
    """Computes precision, recall and F1 of spans, per type and overall.

    Args:
        y_true: Sequence of lists of str. The true tags of each sentence.
        y_pred: Sequence of lists of str. The predicted tags of each sentence.
        scheme: str. The tag scheme: `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`.
        mode: str. How spans are read from illegal tag sequences: `"strict"` or `"conlleval"`; see
            `tfreps.tags.spans`. Defaults to `"strict"`.

    Returns:
        dict with these keys. All scores are dicts with `precision`, `recall`, `f1` (float) and
        `support` (int, the number of true spans); 0 / 0 counts as 0.

        - `types`: dict from each span type that occurs to the scores of this type.
        - `micro`: The scores of all spans together.
        - `macro`: The unweighted means of the scores of the types. `support` is the number of all
          true spans.

    Raises:
        ValueError: If a sentence has different numbers of true and predicted tags, the numbers of
            sentences differ or are 0, a tag is not valid in the scheme, or `scheme` or `mode` is
            not one of the values above.

    Example:
        >>> from tfreps import reports
        >>> report = reports.span_report([["B-X", "B-Y"]], [["B-X", "O"]], "bio")
        >>> print(reports.format_report(report))
               precision   recall       f1  support
        X         1.0000   1.0000   1.0000        1
        Y         0.0000   0.0000   0.0000        1
        micro     1.0000   0.5000   0.6667        2
        macro     0.5000   0.5000   0.5000        2
    """
    check_sentences(y_true, y_pred)
    correct, predicted, support = Counter[str](), Counter[str](), Counter[str]()
    for true_tags, pred_tags in zip(y_true, y_pred, strict=True):
        true = set(tag_sequences.spans(true_tags, scheme, mode))
        pred = set(tag_sequences.spans(pred_tags, scheme, mode))
        for counts, found in (correct, true & pred), (predicted, pred), (support, true):
            counts.update(span.type for span in found)
    types = {
        kind: scores_of_counts(correct[kind], predicted[kind], support[kind])
        for kind in sorted(predicted | support)
    }
    micro = scores_of_counts(correct.total(), predicted.total(), support.total())
    return {"types": types, "micro": micro, "macro": _mean(types)}


def classification_report(
    y_true: Sequence[str], y_pred: Sequence[str], names: Sequence[str] | None = None
) -> LabelReport:
    """Computes precision, recall and F1 of each label, for labels of texts or tags of tokens.

    Args:
        y_true: Sequence of str. The true labels.
        y_pred: Sequence of str of the same length. The predicted labels.
        names: Sequence of str. The labels to report, in this order. If `None` (the default), all
            labels that occur are reported in alphabetical order.

    Returns:
        dict with these keys. All scores are dicts with `precision`, `recall`, `f1` (float) and
        `support` (int, how often a label occurs in `y_true`); 0 / 0 counts as 0.

        - `accuracy`: float. The proportion of predicted labels that are right.
        - `labels`: dict from each label to its scores.
        - `macro`: The unweighted means of the scores of the labels, and the sum of the supports.
        - `weighted`: The means of the scores of the labels, weighted by support, and the sum of the
          supports, as in luopeixiang/named_entity_recognition (see
          `tfreps.metrics.WeightedTokenF1`).

    Raises:
        ValueError: If the lengths differ, there are no labels, or a label is not in `names`.

    Example:
        >>> from tfreps import reports
        >>> report = reports.classification_report(["a", "a", "b"], ["a", "b", "b"])
        >>> round(report["accuracy"], 4), report["labels"]["a"]["recall"]
        (0.6667, 0.5)
    """
    names = sorted({*y_true, *y_pred}) if names is None else list(names)
    counts = confusion_counts(y_true, y_pred, names)
    correct = counts.diagonal()
    support = counts.sum(1)
    predicted = counts.sum(0)
    rows = {
        name: scores_of_counts(*(int(count) for count in row))
        for name, *row in zip(names, correct, predicted, support, strict=True)
    }
    return {
        "accuracy": float(correct.sum() / counts.sum()),
        "labels": rows,
        "macro": _mean(rows),
        "weighted": _mean(rows, weights=support),
    }


def confusion_counts(
    y_true: Sequence[str], y_pred: Sequence[str], names: Sequence[str]
) -> np.ndarray:
    """Counts how often each label was predicted for each true label.

    Args:
        y_true: Sequence of str. The true labels.
        y_pred: Sequence of str of the same length. The predicted labels.
        names: Sequence of N str. The labels in the order of rows and columns.

    Returns:
        An int64 NumPy array of shape `[N, N]`, with true labels as rows and predicted labels as
        columns.

    Raises:
        ValueError: If `y_true` and `y_pred` have different lengths or are empty, or a label of
            theirs is not in `names`.

    Example:
        >>> from tfreps import reports
        >>> reports.confusion_counts(["a", "b", "b"], ["a", "b", "a"], ["a", "b"])
        array([[1, 0],
               [1, 1]])
    """
    check_lengths(y_true, y_pred)
    positions = {name: position for position, name in enumerate(names)}
    unknown = next((name for name in (*y_true, *y_pred) if name not in positions), None)
    if unknown is not None:
        raise ValueError(
            f"`names` must contain every label of `y_true` and `y_pred`; {unknown!r} is not one of "
            f"the {len(names)} labels in `names`."
        )
    rows, columns = ([positions[name] for name in labels] for labels in (y_true, y_pred))
    counts = np.zeros([len(names)] * 2, np.int64)  # [N, N]
    np.add.at(counts, (rows, columns), 1)
    return counts


def illegal_transition_report(
    sentences: Iterable[Sequence[str]], scheme: Scheme | None
) -> TransitionReport:
    """Counts transitions between tags that violate the tag scheme.

    Args:
        sentences: Iterable of lists of str. The tags of each sentence.
        scheme: str. The tag scheme. If `None`, all transitions are legal.

    Returns:
        dict with three int values:

        - `illegal`: Number of illegal transitions.
        - `transitions`: Number of all transitions, including the transitions from the start of each
          sentence to its first tag and from its last tag to its end.
        - `sentences`: Number of sentences with an illegal transition.

    Raises:
        ValueError: If the scheme is unknown or a tag is not valid in it.

    Example:
        >>> from tfreps import reports
        >>> reports.illegal_transition_report([["O", "I-X"], ["B-X"]], "bio")
        {'illegal': 1, 'transitions': 5, 'sentences': 1}
    """
    illegal = transitions = broken = 0
    for sentence in sentences:
        here = len(tag_sequences.illegal_transitions(sentence, scheme))
        illegal += here
        transitions += len(sentence) + 1
        broken += here > 0
    return {"illegal": illegal, "transitions": transitions, "sentences": broken}


def format_report(report: Mapping[str, Any]) -> str:
    """Formats a report as a table.

    Args:
        report: dict, as returned by `span_report` or `classification_report`.

    Returns:
        str. The table, without a line break at the end. An empty span type is shown as `_`.

    Example:
        >>> from tfreps import reports
        >>> print(reports.format_report(reports.classification_report(["a", "b"], ["a", "a"])))
                  precision   recall       f1  support
        a            0.5000   1.0000   0.6667        1
        b            0.0000   0.0000   0.0000        1
        macro        0.2500   0.5000   0.3333        2
        weighted     0.2500   0.5000   0.3333        2
        accuracy     0.5000
    """
    rows = report["types"] if "types" in report else report["labels"]
    rows = {name or "_": row for name, row in rows.items()}
    averages = {name: report[name] for name in ("micro", "macro", "weighted") if name in report}
    accuracy = {"accuracy": report["accuracy"]} if "accuracy" in report else {}
    width = max(map(len, [*rows, *averages, *accuracy]))
    lines = [f"{'':<{width}}  {'precision':>9}{'recall':>9}{'f1':>9}{'support':>9}"]
    for name, row in [*rows.items(), *averages.items()]:
        numbers = "".join(f"{row[column]:9.4f}" for column in ("precision", "recall", "f1"))
        lines.append(f"{name:<{width}}  {numbers}{row['support']:9d}")
    lines += [f"{name:<{width}}  {value:9.4f}" for name, value in accuracy.items()]
    return "\n".join(lines)


def format_confusion(counts: ArrayLike, names: Sequence[str]) -> str:
    """Formats confusion counts as a table, with a row for each true label.

    Args:
        counts: Integer array of shape `[N, N]`, as returned by `confusion_counts`.
        names: Sequence of N str. The labels in the order of rows and columns.

    Returns:
        str. The table, without a line break at the end.

    Example:
        >>> from tfreps import reports
        >>> print(reports.format_confusion([[1, 0], [12, 1]], ["bad", "good"]))
              bad  good
        bad     1     0
        good   12     1
    """
    rows = np.asarray(counts).tolist()
    table = [["", *names]]
    table += [[name, *map(str, row)] for name, row in zip(names, rows, strict=True)]
    return format_table(table)


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows of cells as lines, with the first column to the left and all others right."""
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join(
        f"{row[0]:<{first}}" + "".join(f"  {x:>{w}}" for x, w in zip(row[1:], widths, strict=True))
        for row in rows
    )


def _mean(rows: Mapping[str, Scores], weights: np.ndarray | None = None) -> Scores:
    """Returns the `Scores` with the means of the scores in `rows`, and the sum of the supports.

    `weights` contains a weight for each row. If it is `None`, the means are unweighted. If all
    weights are 0, or if there are no rows, the means are 0.
    """
    table = np.array([[row["precision"], row["recall"], row["f1"]] for row in rows.values()])
    if not rows or (weights is not None and not np.any(weights)):
        precision = recall = f1 = 0.0
    else:
        precision, recall, f1 = np.average(table, axis=0, weights=weights).tolist()
    support = sum(row["support"] for row in rows.values())
    return {"precision": precision, "recall": recall, "f1": f1, "support": support}


def check_sentences(y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]]) -> None:
    check_lengths(y_true, y_pred)
    for number, (true, pred) in enumerate(zip(y_true, y_pred, strict=True), 1):
        if len(true) != len(pred):
            raise ValueError(
                "`y_true` and `y_pred` must have the same number of tags in each sentence; "
                f"sentence {number} (counted from 1) has {len(true)} true and {len(pred)} "
                "predicted tags."
            )
