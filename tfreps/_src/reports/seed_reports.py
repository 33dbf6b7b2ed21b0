"""Summarizes the metrics of runs that differ only in their random seed."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from tfreps._src.reports.comparison import TITLES
from tfreps._src.reports.tag_reports import format_table

PARTS = "validation", "test"
COLUMNS = "mean", "std", "min", "max"


class Spread(TypedDict):
    """Mean, sample standard deviation and range of a metric, and its value for each seed."""

    mean: float
    std: float
    min: float
    max: float
    values: list[float]


def summarize_seeds(results: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Spread]]:
    """Returns the `Spread` of each metric, for each part of the data on which all runs have it.

    `results` are the contents of the results.json of two or more runs. The keys of the dict are
    `"validation"` and `"test"`, if the runs have these parts, and then the names of the metrics.
    """
    found: dict[str, dict[str, Spread]] = {}
    for part in PARTS:
        if all(part in each for each in results):
            scores = [main_scores(each[part]) for each in results]
            names = [name for name in scores[0] if all(name in each for each in scores)]
            found[part] = {name: _spread([each[name] for each in scores]) for name in names}
    return found


def main_scores(results: Mapping[str, Any]) -> dict[str, float]:
    """Returns the scores that describe a model best, from the result of an evaluation.

    These are the precision, recall and F1 of all spans for a tagger with a tag scheme, the macro F1
    and AUC for a classifier, and the accuracy.
    """
    found: dict[str, float] = {}
    if "spans" in results:
        micro = results["spans"]["micro"]
        found |= {name: micro[name] for name in ("precision", "recall", "f1")}
    found["accuracy"] = results["accuracy"]
    if "macro" in results:
        found["macro_f1"] = results["macro"]["f1"]
    if "auc" in results:
        found["auc"] = results["auc"]
    return found


def format_seeds(part: str, scores: Mapping[str, Spread]) -> str:
    """Returns a table with a row for each metric of a part of the data, such as `"test"`."""
    rows = [
        [TITLES.get(name, name), *(f"{spread[column]:.4f}" for column in COLUMNS)]
        for name, spread in scores.items()
    ]
    return format_table([[part, *COLUMNS], *rows])


def _spread(values: list[float]) -> Spread:
    return {
        "mean": float(np.mean(values)),
        "std": float(np.std(values, ddof=1)),
        "min": min(values),
        "max": max(values),
        "values": values,
    }
