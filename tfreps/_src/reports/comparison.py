"""Compares the outputs of several taggers or classifiers on the same data, and formats tables."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tfreps._src.reports.paired_tests import paired_tests
from tfreps._src.reports.sentence_counts import (
    NO_SPAN,
    ComparedSpan,
    compared_units,
    confusion_pairs,
    label_counts,
    label_scores,
    span_counts,
    span_scores,
    units,
)
from tfreps._src.reports.tag_reports import format_table
from tfreps._src.text.tags.tag_schemes import Scheme

MOST_ERRORS = 10  # number of kinds of errors that a table shows
Outputs = Mapping[str, Sequence[Sequence[str]]]  # predicted tags or labels under the name of a run
TITLES = {"macro_f1": "macro F1", "f1": "F1", "auc": "AUC"}


class Comparison(NamedTuple):
    """Result of `compare_outputs`.

    Attributes:
        results: JSON-serializable dict with the keys `runs` (the scores and the confusion of each
            run), `confusion_names` and `tests` (the `paired_tests` of each run against the first).
        wrong: list of `ComparedSpan`. The spans that at least one run got wrong.
        errors: dict from the name of each run to a `Counter` of pairs of different true and
            predicted types; `None` stands for a span that does not exist.
    """

    results: dict[str, Any]
    wrong: list[ComparedSpan]
    errors: dict[str, Counter[tuple[str | None, str | None]]]


def compare_outputs(
    y_true: Sequence[Sequence[str]],
    outputs: Outputs,
    scheme: Scheme | None = None,
    names: Sequence[str] = (),
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compares each run with the first one, on the same sentences or texts.

    Args:
        y_true: sequence of lists of str. The true tags of each sentence, or a list of one label for
            each text.
        outputs: dict from the name of each run to its predicted tags or labels, as in `y_true`.
        scheme: str. The tag scheme, or `None` if the tags or labels mark no spans.
        names: sequence of str. All tags or labels; required if `scheme` is `None`.
        samples: int. Number of samples of each test. Defaults to 10,000.
        seed: int. Seed of each comparison. Defaults to 0.

    Returns:
        `Comparison`.
    """
    count, scores = _measures(scheme, names)
    true = [units(tags, scheme) for tags in y_true]
    found = {run: [units(tags, scheme) for tags in y_pred] for run, y_pred in outputs.items()}
    counts = {run: count(y_true, y_pred) for run, y_pred in outputs.items()}
    pairs = {run: confusion_pairs(true, own) for run, own in found.items()}
    kinds = _kinds(pairs.values(), scheme, names)
    first, *others = outputs
    results = {
        "runs": {
            run: {
                **{name: float(score) for name, score in scores(own.sum(0)).items()},
                "confusion": [[pairs[run][a, b] for b in kinds] for a in kinds],
            }
            for run, own in counts.items()
        },
        "confusion_names": [NO_SPAN if kind is None else kind for kind in kinds],
        "tests": {
            run: paired_tests(counts[first], counts[run], scores, samples, seed) for run in others
        },
    }
    every = compared_units(true, list(found.values()))
    wrong = [span for span in every if any(name != span.true for name in span.predicted)]
    errors = {
        run: Counter({pair: n for pair, n in own.items() if pair[0] != pair[1]})
        for run, own in pairs.items()
    }
    return Comparison(results, wrong, errors)


def format_scores(results: Mapping[str, Any]) -> str:
    """Returns a table with the scores of each run; `results` is that of a `Comparison`."""
    rows = {
        run: {name: score for name, score in own.items() if name != "confusion"}
        for run, own in results["runs"].items()
    }
    titles = list(dict.fromkeys(name for row in rows.values() for name in row))
    head = ["", *(TITLES.get(title, title) for title in titles)]
    body = [
        [run, *(f"{row[title]:.4f}" if title in row else "" for title in titles)]
        for run, row in rows.items()
    ]
    return format_table([head, *body])


def format_tests(first: str, second: str, tests: Mapping[str, Mapping[str, float]]) -> str:
    """Returns a table of the `paired_tests` of the runs with the names `first` and `second`."""
    head = [f"{second} - {first}", "difference", "95% interval", "bootstrap p", "randomization p"]
    body = [
        [
            f"  {TITLES.get(name, name)}",
            f"{test['difference']:+.4f}",
            f"{test['low']:+.4f} to {test['high']:+.4f}",
            f"{test['bootstrap_p']:.4f}",
            f"{test['randomization_p']:.4f}",
        ]
        for name, test in tests.items()
    ]
    return format_table([head, *body])


def format_errors(errors: Mapping[str, Counter[tuple[str | None, str | None]]]) -> str:
    """Returns a table of the most frequent errors, or an empty string if there are no errors.

    `errors` is that of a `Comparison`. The errors are sorted by their number in all runs together.
    """
    total = Counter[tuple[str | None, str | None]]()
    for own in errors.values():
        total.update(own)
    shown = sorted(total, key=lambda pair: (-total[pair], _as_words(*pair)))[:MOST_ERRORS]
    if not shown:
        return ""
    body = [[_as_words(*pair), *(str(own[pair]) for own in errors.values())] for pair in shown]
    rest = [sum(own.values()) - sum(own[pair] for pair in shown) for own in errors.values()]
    if any(rest):
        body.append(["other errors", *map(str, rest)])
    return format_table([["errors", *errors], *body])


def _measures(scheme: Scheme | None, names: Sequence[str]) -> tuple[Callable, Callable]:
    """Returns the function that counts, and the function that computes scores from the counts."""
    if scheme is not None:
        return lambda true, pred: span_counts(true, pred, scheme), span_scores
    return lambda true, pred: label_counts(true, pred, names), label_scores


def _kinds(
    pairs: Iterable[Mapping[tuple[str | None, str | None], int]],
    scheme: Scheme | None,
    names: Sequence[str],
) -> list[str | None]:
    """Returns the types of the rows and columns of the confusion; `None` is the last one."""
    if scheme is None:
        return list(names)
    found = {kind for own in pairs for pair in own for kind in pair if kind is not None}
    return [*sorted(found), None]


def _as_words(true: str | None, predicted: str | None) -> str:
    """Returns an error as words, such as `PER as LOC`; an empty span type is shown as `_`."""
    if predicted is None:
        return f"{true or '_'} missed"
    if true is None:
        return f"{predicted or '_'} spurious"
    return f"{true or '_'} as {predicted or '_'}"
