"""Compares the outputs of several taggers or classifiers on the same data, and formats tables."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tfreps._src.reports.paired_tests import PairedTest, paired_tests
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
# Predicted tags or labels of each model of a run; the models differ in their random seed.
Outputs = Mapping[str, Sequence[Sequence[Sequence[str]]]]
Pair = tuple[str | None, str | None]  # true and predicted type; `None` if there is no such span
TITLES = {"macro_f1": "macro F1", "f1": "F1", "auc": "AUC"}


class Comparison(NamedTuple):
    """Result of `compare_outputs`.

    Attributes:
        results: JSON-serializable dict with the keys `runs` (the scores and the confusion of each
            run), `confusion_names` and `tests` (the `paired_tests` of each run against the first).
            The scores of a run with several models are means over the models. The run then also
            has `std`, the sample standard deviation of each score, and `values`, the score of each
            model. The confusion is the sum over the models.
        wrong: list of `ComparedSpan`. The spans that at least one model got wrong, with the
            predictions of all models of all runs.
        errors: dict from the name of each run to a `Counter` of pairs of different true and
            predicted types; `None` stands for a span that does not exist.
    """

    results: dict[str, Any]
    wrong: list[ComparedSpan]
    errors: dict[str, Counter[Pair]]


def compare_outputs(
    y_true: Sequence[Sequence[str]],
    outputs: Outputs,
    scheme: Scheme | None = None,
    names: Sequence[str] = (),
    samples: int = 10_000,
    seed: int = 0,
    more: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
) -> Comparison:
    """Compares each run with the first one, on the same sentences or texts.

    A run has K models, which differ in their random seed. The tests compare the means of the scores
    over the models: a bootstrap sample consists of the same sentences for all models, and a swap of
    a sentence swaps the outputs of all models, in their order. A run with one model is compared as
    if it had K equal models.

    Args:
        y_true: sequence of lists of str. The true tags of each sentence, or a list of one label for
            each text.
        outputs: dict from the name of each run to a list with the predicted tags or labels of each
            of its models, as in `y_true`. Runs with several models have the same number of them.
        scheme: str. The tag scheme, or `None` if the tags or labels mark no spans.
        names: sequence of str. All tags or labels; required if `scheme` is `None`.
        samples: int. Number of samples of each test. Defaults to 10,000.
        seed: int. Seed of each comparison. Defaults to 0.
        more: dict from the name of each run to a dict of further scores, which are reported but not
            tested: a list with the score of each model. If `None`, there are no further scores.
            Defaults to `None`.

    Returns:
        `Comparison`.
    """
    count, scores = _measures(scheme, names)
    true = [units(tags, scheme) for tags in y_true]
    found = {
        run: [[units(tags, scheme) for tags in y_pred] for y_pred in models]
        for run, models in outputs.items()
    }
    counts = {  # [N, K, ...] each
        run: np.stack([count(y_true, y_pred) for y_pred in models], 1)
        for run, models in outputs.items()
    }
    pairs = {
        run: _summed(confusion_pairs(true, own) for own in models) for run, models in found.items()
    }
    kinds = _kinds(pairs.values(), scheme, names)
    first, *others = outputs
    results = {
        "runs": {
            run: {
                **_spread({**scores(own.sum(0)), **(more or {}).get(run, {})}),
                "confusion": [[pairs[run][a, b] for b in kinds] for a in kinds],
            }
            for run, own in counts.items()
        },
        "confusion_names": [NO_SPAN if kind is None else kind for kind in kinds],
        "tests": {
            run: _tested(counts[first], counts[run], scores, samples, seed) for run in others
        },
    }
    every = compared_units(true, [own for models in found.values() for own in models])
    wrong = [span for span in every if any(name != span.true for name in span.predicted)]
    errors = {
        run: Counter({pair: n for pair, n in own.items() if pair[0] != pair[1]})
        for run, own in pairs.items()
    }
    return Comparison(results, wrong, errors)


def format_scores(results: Mapping[str, Any]) -> str:
    """Returns a table with the scores of each run; `results` is that of a `Comparison`.

    Scores of a run with several models are shown as mean ± standard deviation.
    """
    rows = {
        run: {name: score for name, score in own.items() if isinstance(score, float)}
        for run, own in results["runs"].items()
    }
    spreads = {run: own.get("std", {}) for run, own in results["runs"].items()}
    blank = " " * len(" ± 0.0000") if any(spreads.values()) else ""
    titles = list(dict.fromkeys(name for row in rows.values() for name in row))
    head = ["", *(TITLES.get(title, title) for title in titles)]
    body = [[run] for run in rows]
    for line, row, std in zip(body, rows.values(), spreads.values(), strict=True):
        for title in titles:
            spread = f" ± {std[title]:.4f}" if title in std else blank
            line.append(f"{row[title]:.4f}{spread}" if title in row else "")
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


def format_errors(errors: Mapping[str, Counter[Pair]]) -> str:
    """Returns a table of the most frequent errors, or an empty string if there are no errors.

    `errors` is that of a `Comparison`. The errors are sorted by their number in all runs together.
    """
    total = _summed(errors.values())
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


def _tested(
    ours: NDArray[Any], theirs: NDArray[Any], scores: Callable, samples: int, seed: int
) -> dict[str, PairedTest]:
    """Returns the `paired_tests` of the mean scores over K models, from counts `[N, K, ...]`."""

    def means(sums):
        return {name: score.mean(-1) for name, score in scores(sums).items()}

    first, second = np.broadcast_arrays(ours, theirs)
    return paired_tests(first, second, means, samples, seed)


def _spread(scores: Mapping[str, ArrayLike]) -> dict[str, Any]:
    """Returns the entries of a run for its scores, `[K]` each over K models, in `Comparison`."""
    values = {name: np.asarray(own, np.float64) for name, own in scores.items()}
    found: dict[str, Any] = {name: float(own.mean()) for name, own in values.items()}
    if any(own.size > 1 for own in values.values()):
        found["std"] = {name: float(own.std(ddof=1)) for name, own in values.items()}
        found["values"] = {name: own.tolist() for name, own in values.items()}
    return found


def _summed(counters: Iterable[Counter[Pair]]) -> Counter[Pair]:
    total: Counter[Pair] = Counter()
    for own in counters:
        total.update(own)
    return total


def _kinds(
    pairs: Iterable[Mapping[Pair, int]],
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
