"""Reports on spans, tags and labels, per type and per label: computed, and formatted as tables."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from tfreps.reports.binary_scores import Scores, check_lengths, scores_of_counts
from tfreps.text import tags as tag_sequences


def span_report(
    true: Sequence[Sequence[str]],
    pred: Sequence[Sequence[str]],
    scheme: str,
    mode: str = "strict",
) -> dict:
    """Computes precision, recall and F1 of spans, per type and overall.

    Args:
        true: the tags of each sentence in the data.
        pred: the tags of each sentence from the model.
        scheme: see `tfreps.text.tags.spans`.
        mode: `"strict"` or `"conlleval"`.

    Returns:
        dict: `types` maps every type that occurs to `precision`, `recall`, `f1` (float) and
        `support` (int, spans in the data); `micro` and `macro` (mean over the types) have the
        same four. 0 stands for nothing divided by nothing.

    Raises:
        ValueError: sentences of different lengths; a tag outside the scheme.

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
    _check_sentences(true, pred)
    counts = {"correct": Counter(), "predicted": Counter(), "true": Counter()}
    for gold, guess in zip(true, pred, strict=True):
        gold = set(tag_sequences.spans(gold, scheme, mode))
        guess = set(tag_sequences.spans(guess, scheme, mode))
        for name, found in ("correct", gold & guess), ("predicted", guess), ("true", gold):
            counts[name].update(span.type for span in found)
    correct, predicted, support = counts.values()
    types = {
        kind: scores_of_counts(correct[kind], predicted[kind], support[kind])
        for kind in sorted(predicted | support)
    }
    micro = scores_of_counts(correct.total(), predicted.total(), support.total())
    return {"types": types, "micro": micro, "macro": _mean(types)}


def classification_report(
    true: Sequence[str], pred: Sequence[str], names: Sequence[str] | None = None
) -> dict:
    """Computes precision, recall and F1 of every label, or of every plain tag over all tokens.

    Args:
        true: the labels in the data.
        pred: the labels from the model, as many.
        names: the labels to report, in this order; None for those that occur, sorted.

    Returns:
        dict: `accuracy` (float); `labels` maps each name to `precision`, `recall`, `f1` and
        `support`; `macro` is their mean, `weighted` their mean with the supports as weights
        (luopeixiang's scores of tags, see `tfreps.metrics.WeightedTokenF1`).

    Raises:
        ValueError: different lengths, nothing to report, or a label that is not in `names`.

    Example:
        >>> from tfreps import reports
        >>> report = reports.classification_report(["a", "a", "b"], ["a", "b", "b"])
        >>> round(report["accuracy"], 4), report["labels"]["a"]["recall"]
        (0.6667, 0.5)
    """
    names = sorted({*true, *pred}) if names is None else list(names)
    counts = confusion_counts(true, pred, names)
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


def confusion_counts(true: Sequence[str], pred: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Counts how often each label was taken for each other.

    Args:
        true: the labels in the data.
        pred: the labels from the model, as many.
        names: the labels in the order of rows and columns.

    Returns:
        int64 NumPy array, shape `[N, N]`, `[label in the data, label from the model]`.

    Example:
        >>> from tfreps import reports
        >>> reports.confusion_counts(["a", "b", "b"], ["a", "b", "a"], ["a", "b"])
        array([[1, 0],
               [1, 1]])
    """
    check_lengths(true, pred)
    place = {name: index for index, name in enumerate(names)}
    unknown = next((name for name in (*true, *pred) if name not in place), None)
    if unknown is not None:
        raise ValueError(f"The label {unknown!r} is none of the {len(names)} names to report.")
    rows, columns = ([place[name] for name in labels] for labels in (true, pred))
    counts = np.zeros([len(names)] * 2, np.int64)  # [true, pred]
    np.add.at(counts, (rows, columns), 1)
    return counts


def illegal_transition_report(sentences: Iterable[Sequence[str]], scheme: str | None) -> dict:
    """Counts how often tags break their scheme.

    Args:
        sentences: the tags of each sentence.
        scheme: the scheme; None allows everything.

    Returns:
        dict of int: `illegal`, `transitions` (start and end of every sentence included) and
        `sentences` with at least one of them.

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


def format_report(report: dict) -> str:
    """Formats a report as a table.

    Args:
        report: dict from `span_report` or `classification_report`.

    Returns:
        str of several lines, without a line end after the last. The type of spans without a
        type is shown as `_`.
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


def format_confusion(counts: np.ndarray, names: Sequence[str]) -> str:
    """Formats `confusion_counts` as a table, with a row for each label in the data.

    Example:
        >>> from tfreps import reports
        >>> print(reports.format_confusion([[1, 0], [12, 1]], ["bad", "good"]))
              bad  good
        bad     1     0
        good   12     1
    """
    table = [
        ["", *names],
        *([name, *map(str, row)] for name, row in zip(names, counts, strict=True)),
    ]
    first, *widths = (max(map(len, column)) for column in zip(*table, strict=True))
    return "\n".join(
        f"{row[0]:<{first}}" + "".join(f"  {x:>{w}}" for x, w in zip(row[1:], widths, strict=True))
        for row in table
    )


def _mean(rows: dict[str, Scores], weights=None) -> Scores:
    """The mean of rows; their sum for `support`."""
    table = np.array(
        [[row[name] for name in ("precision", "recall", "f1")] for row in rows.values()]
    )
    if not rows or (weights is not None and not np.any(weights)):
        means = [0.0] * 3
    else:
        means = np.average(table, axis=0, weights=weights).tolist()
    support = sum(row["support"] for row in rows.values())
    return dict(zip(("precision", "recall", "f1", "support"), (*means, support), strict=True))


def _check_sentences(true: Sequence[Sequence[str]], pred: Sequence[Sequence[str]]) -> None:
    check_lengths(true, pred)
    for number, (gold, guess) in enumerate(zip(true, pred, strict=True), 1):
        if len(gold) != len(guess):
            raise ValueError(
                f"Sentence {number} has {len(gold)} tags in the data and {len(guess)} from the "
                "model; every token needs one of both."
            )
