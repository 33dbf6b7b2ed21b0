"""Counts spans and labels in each sentence, and computes scores from sums of these counts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tfreps._src.reports.tag_reports import check_sentences
from tfreps._src.text.tags import tag_sequences
from tfreps._src.text.tags.tag_schemes import Scheme, SpanMode

NO_SPAN = "(none)"  # row of spurious spans, and column of missed spans
Counts = NDArray[np.int64]
Units = dict[tuple[int, int], str]  # the name of each span, by its start and its end, exclusive


class SpanConfusion(NamedTuple):
    """Result of `span_confusion`: a matrix of counts, and the names of its rows and columns."""

    counts: Counts
    names: list[str]


class ComparedSpan(NamedTuple):
    """True and predicted types from `start` to `end`; `None` if there is no such span."""

    sentence: int
    start: int
    end: int
    true: str | None
    predicted: list[str | None]


def span_counts(
    y_true: Sequence[Sequence[str]],
    y_pred: Sequence[Sequence[str]],
    scheme: Scheme,
    mode: SpanMode = "strict",
) -> Counts:
    """Counts spans and tags in each sentence, for `span_scores` and `paired_tests`.

    Args:
        y_true: Sequence of N lists of str. The true tags of each sentence.
        y_pred: Sequence of N lists of str. The predicted tags of each sentence.
        scheme: str. The tag scheme: `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`.
        mode: str. How spans are read from illegal tag sequences: `"strict"` or `"conlleval"`; see
            `tfreps.tags.spans`. Defaults to `"strict"`.

    Returns:
        An int64 NumPy array of shape `[N, 5]`. The columns are the numbers of correct, predicted
        and true spans, of right tags, and of tags.

    Raises:
        ValueError: If a sentence has different numbers of true and predicted tags, the numbers of
            sentences differ or are 0, a tag is not valid in the scheme, or `scheme` or `mode` is
            not one of the values above.

    Example:
        >>> from tfreps import reports
        >>> reports.span_counts([["B-X", "I-X", "B-Y"]], [["B-X", "O", "B-Y"]], "bio")
        array([[1, 2, 2, 2, 3]])
    """
    check_sentences(y_true, y_pred)
    rows = []
    for true_tags, pred_tags in zip(y_true, y_pred, strict=True):
        true, pred = (set(tag_sequences.spans(x, scheme, mode)) for x in (true_tags, pred_tags))
        right = sum(a == b for a, b in zip(true_tags, pred_tags, strict=True))
        rows.append([len(true & pred), len(pred), len(true), right, len(true_tags)])
    return np.array(rows, np.int64)


def span_scores(counts: ArrayLike) -> dict[str, NDArray[np.float64]]:
    """Computes precision, recall and F1 of spans, and the accuracy of tags, from summed counts.

    Args:
        counts: Array of shape `[..., 5]`. Sums of the result of `span_counts` over sentences.

    Returns:
        dict with the keys `precision`, `recall`, `f1` and `accuracy`. The values are float64 arrays
        of shape `[...]`; 0 / 0 counts as 0.

    Example:
        >>> from tfreps import reports
        >>> counts = reports.span_counts([["B-X", "I-X", "B-Y"]], [["B-X", "O", "B-Y"]], "bio")
        >>> float(reports.span_scores(counts.sum(0))["f1"])
        0.5
    """
    correct, predicted, true, right, tags = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    return {
        "precision": _ratio(correct, predicted),
        "recall": _ratio(correct, true),
        "f1": _ratio(2 * correct, predicted + true),
        "accuracy": _ratio(right, tags),
    }


def label_counts(
    y_true: Sequence[str | Sequence[str]],
    y_pred: Sequence[str | Sequence[str]],
    names: Sequence[str],
) -> Counts:
    """Counts labels in each text, or tags in each sentence, for `label_scores` and `paired_tests`.

    Args:
        y_true: Sequence of N str or lists of str. The true label of each text, or the true tags of
            each sentence.
        y_pred: Sequence of N str or lists of str. The predicted labels or tags.
        names: Sequence of K str. All labels or tags.

    Returns:
        An int64 NumPy array of shape `[N, 3, K]`. The rows are the numbers of right predictions of
        each label, of all its predictions, and of its true occurrences.

    Raises:
        ValueError: If a sentence has different numbers of true and predicted tags, the numbers of
            sentences differ or are 0, or a label is not in `names`.

    Example:
        >>> from tfreps import reports
        >>> reports.label_counts(["a", "b"], ["a", "a"], ["a", "b"]).tolist()
        [[[1, 0], [1, 0], [1, 0]], [[0, 0], [1, 0], [0, 1]]]
    """
    true, pred = ([[x] if isinstance(x, str) else x for x in y] for y in (y_true, y_pred))
    check_sentences(true, pred)
    columns = {name: column for column, name in enumerate(names)}
    counts = np.zeros([len(true), 3, len(columns)], np.int64)  # [N, 3, K]
    for number, (ours, theirs) in enumerate(zip(true, pred, strict=True)):
        for a, b in zip(ours, theirs, strict=True):
            if a not in columns or b not in columns:
                raise ValueError(
                    "`names` must contain every label of `y_true` and `y_pred`; "
                    f"{a if a not in columns else b!r} is not one of the {len(columns)} labels in "
                    "`names`."
                )
            counts[number, 0, columns[a]] += a == b
            counts[number, 1, columns[b]] += 1
            counts[number, 2, columns[a]] += 1
    return counts


def label_scores(counts: ArrayLike) -> dict[str, NDArray[np.float64]]:
    """Computes the accuracy and the macro F1 of labels or tags from summed counts.

    The macro F1 is the mean of the F1 of all K labels.

    Args:
        counts: Array of shape `[..., 3, K]`. Sums of the result of `label_counts` over texts.

    Returns:
        dict with the keys `accuracy` and `macro_f1`. The values are float64 arrays of shape
        `[...]`; 0 / 0 counts as 0.

    Example:
        >>> from tfreps import reports
        >>> counts = reports.label_counts(["a", "b", "b"], ["a", "b", "a"], ["a", "b"])
        >>> {name: round(float(x), 4) for name, x in reports.label_scores(counts.sum(0)).items()}
        {'accuracy': 0.6667, 'macro_f1': 0.6667}
    """
    correct, predicted, true = np.moveaxis(np.asarray(counts, np.float64), -2, 0)  # [..., K] each
    return {
        "accuracy": _ratio(correct.sum(-1), true.sum(-1)),
        "macro_f1": _ratio(2 * correct, predicted + true).mean(-1),
    }


def span_confusion(
    y_true: Sequence[Sequence[str]],
    y_pred: Sequence[Sequence[str]],
    scheme: Scheme,
    mode: SpanMode = "strict",
    types: Sequence[str] | None = None,
) -> SpanConfusion:
    """Counts which type was predicted for each true span, and missed and spurious spans.

    A true and a predicted span are compared if they have the same start and the same end. All other
    true spans are missed, and all other predicted spans are spurious. Thus, a predicted span with a
    wrong start or end counts as spurious, and its true span as missed.

    Args:
        y_true: Sequence of lists of str. The true tags of each sentence.
        y_pred: Sequence of lists of str. The predicted tags of each sentence.
        scheme: str. The tag scheme: `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`.
        mode: str. How spans are read from illegal tag sequences: `"strict"` or `"conlleval"`; see
            `tfreps.tags.spans`. Defaults to `"strict"`.
        types: Sequence of K str. The span types, in the order of rows and columns. If `None`, the
            types that occur, in alphabetical order. Defaults to `None`.

    Returns:
        `SpanConfusion`, a named tuple with two fields. `counts` is an int64 NumPy array of shape
        `[K + 1, K + 1]`, with true types as rows and predicted types as columns. The last row
        contains spurious spans, and the last column missed ones. `names` is the list of the types
        and `"(none)"`, for `format_confusion` and `tfreps.plots.plot_confusion_matrix`.

    Raises:
        ValueError: If a sentence has different numbers of true and predicted tags, the numbers of
            sentences differ or are 0, a tag is not valid in the scheme, a type is not in `types`,
            or `scheme` or `mode` is not one of the values above.

    Example:
        >>> from tfreps import reports
        >>> y_true, y_pred = [["B-X", "O", "B-Y", "I-Y"]], [["B-Y", "O", "B-Y", "O"]]
        >>> print(reports.format_confusion(*reports.span_confusion(y_true, y_pred, "bio")))
                X  Y  (none)
        X       0  1       0
        Y       0  0       1
        (none)  0  1       0
    """
    check_sentences(y_true, y_pred)
    true, pred = ([units(tags, scheme, mode) for tags in y] for y in (y_true, y_pred))
    pairs = confusion_pairs(true, pred)
    found = sorted({name for pair in pairs for name in pair if name is not None})
    names = [*(found if types is None else types), None]
    unknown = set(found) - set(names)
    if unknown:
        raise ValueError(
            f"`types` must contain every type of the spans; {min(unknown)!r} is not one of the "
            f"{len(names) - 1} types in `types`."
        )
    counts = np.array([[pairs[a, b] for b in names] for a in names], np.int64)
    return SpanConfusion(counts, [NO_SPAN if name is None else name for name in names])


def units(tags: Sequence[str], scheme: Scheme | None, mode: SpanMode = "strict") -> Units:
    """Returns the spans of a sentence or, without a scheme, its tags as spans of one token."""
    if scheme is None:
        return {(place, place + 1): tag for place, tag in enumerate(tags)}
    found = tag_sequences.spans(tags, scheme, mode)
    return {(span.start, span.end): span.type for span in found}


def confusion_pairs(
    true: Sequence[Units], predicted: Sequence[Units]
) -> Counter[tuple[str | None, str | None]]:
    """Counts the pairs of true and predicted types; a type is `None` if there is no such span."""
    return Counter((x.true, x.predicted[0]) for x in compared_units(true, [predicted]))


def compared_units(
    true: Sequence[Units], predicted: Sequence[Sequence[Units]]
) -> Iterator[ComparedSpan]:
    """Yields the true spans and those of all systems in the order of the text, also right ones.

    `true` contains the spans of each sentence, and `predicted` contains such a list for each
    system.
    """
    for number, (own, *others) in enumerate(zip(true, *predicted, strict=True)):
        for start, end in sorted({*own, *(place for other in others for place in other)}):
            place = start, end
            yield ComparedSpan(number, *place, own.get(place), [x.get(place) for x in others])


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns `part / whole`, and 0 where `whole` is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
