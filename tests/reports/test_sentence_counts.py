"""Counts of sentences: their sums are those of the reports, and confusions are counted by loops."""

import json

import numpy as np
import pytest

from tests import seqeval_oracle
from tests.closeness import assert_close
from tfreps import reports
from tfreps._src.reports.comparison import (
    compare_outputs,
    format_errors,
    format_scores,
    format_tests,
)
from tfreps._src.text.tags.tag_schemes import LETTERS
from tfreps.tags import spans

TRUE = [["B-X", "I-X", "O"], ["B-Y", "O"], ["O"]]
FIRST = [["B-X", "O", "O"], ["B-X", "O"], ["B-Z"]]  # an X too short, Y as X, a spurious Z
SECOND = [["B-X", "I-X", "O"], ["O", "O"], ["O"]]  # misses Y


@pytest.mark.parametrize("scheme", LETTERS)
def test_sums_of_span_counts_are_the_span_report(scheme):
    true = seqeval_oracle.random_sentences(scheme, 100, seed=1)
    pred = seqeval_oracle.noisy(true, scheme, seed=2)
    counts = reports.span_counts(true, pred, scheme)
    assert counts.shape == (100, 5)
    found = reports.span_scores(counts.sum(0))
    expected = reports.span_report(true, pred, scheme)["micro"]
    for name in "precision", "recall", "f1":
        assert_close(float(found[name]), expected[name])
    pairs = [pair for x in zip(true, pred, strict=True) for pair in zip(*x, strict=True)]
    assert_close(float(found["accuracy"]), np.mean([a == b for a, b in pairs]))


def test_sums_of_label_counts_are_the_classification_report():
    rng = np.random.default_rng(0)
    true, pred = (rng.choice(["a", "b", "c"], size=50, p=[0.6, 0.3, 0.1]).tolist() for _ in "ab")
    names = ["a", "b", "c", "never"]
    found = reports.label_scores(reports.label_counts(true, pred, names).sum(0))
    expected = reports.classification_report(true, pred, names)
    assert_close(float(found["accuracy"]), expected["accuracy"])
    assert_close(float(found["macro_f1"]), expected["macro"]["f1"])
    tags = reports.label_counts([true[:20], true[20:]], [pred[:20], pred[20:]], names)  # sentences
    assert tags.shape == (2, 3, 4)
    assert_close(float(reports.label_scores(tags.sum(0))["macro_f1"]), expected["macro"]["f1"])


def test_counts_by_hand():
    assert reports.span_counts(TRUE, FIRST, "bio").tolist() == [
        [0, 1, 1, 2, 3],
        [0, 1, 1, 1, 2],
        [0, 1, 0, 0, 1],
    ]
    nothing = reports.span_scores(np.zeros(5))
    assert {name: float(score) for name, score in nothing.items()} == {
        "precision": 0.0, "recall": 0.0, "f1": 0.0, "accuracy": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize("scheme", LETTERS)
def test_confusions_are_those_of_a_loop(scheme):
    true = seqeval_oracle.random_sentences(scheme, 60, seed=3)
    pred = seqeval_oracle.noisy(true, scheme, seed=4)
    counts, names = reports.span_confusion(true, pred, scheme)
    assert names[-1] == "(none)" and counts[-1, -1] == 0
    expected = np.zeros_like(counts)
    for a, b in zip(true, pred, strict=True):
        ours, theirs = spans(a, scheme), spans(b, scheme)
        for span in ours:
            same = [x.type for x in theirs if (x.start, x.end) == (span.start, span.end)]
            expected[names.index(span.type), names.index(same[0] if same else "(none)")] += 1
        for span in theirs:
            if not any((x.start, x.end) == (span.start, span.end) for x in ours):
                expected[-1, names.index(span.type)] += 1
    np.testing.assert_array_equal(counts, expected)
    report = reports.span_report(true, pred, scheme)
    for name, row in report["types"].items():
        place = names.index(name)
        assert counts[place].sum() == row["support"]
        assert_close(counts[place, place] / max(1, counts[:, place].sum()), row["precision"])


def test_a_comparison_by_hand():
    found = compare_outputs(TRUE, {"a": [FIRST], "b": [SECOND]}, "bio", samples=100)
    assert json.loads(json.dumps(found.results)) == found.results
    names, runs = found.results["confusion_names"], found.results["runs"]
    assert names == ["X", "Y", "Z", "(none)"]
    assert runs["a"]["confusion"] == [[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]]
    assert runs["b"]["confusion"] == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert (runs["b"]["precision"], runs["b"]["recall"]) == (1.0, 0.5)
    counts = [reports.span_counts(TRUE, pred, "bio") for pred in (FIRST, SECOND)]
    expected = reports.paired_tests(*counts, reports.span_scores, samples=100)
    assert found.results["tests"] == {"b": expected}
    assert [tuple(span) for span in found.wrong] == [
        (0, 0, 1, None, ["X", None]),
        (0, 0, 2, "X", [None, "X"]),
        (1, 0, 1, "Y", ["X", None]),
        (2, 0, 1, None, ["Z", None]),
    ]
    assert format_errors(found.errors).splitlines() == [
        "errors      a  b",
        "X missed    1  0",
        "X spurious  1  0",
        "Y as X      1  0",
        "Y missed    0  1",
        "Z spurious  1  0",
    ]


def test_a_comparison_of_labels():
    true, first, second = ([[x] for x in y] for y in ("aab", "abb", "aab"))
    found = compare_outputs(true, {"one": [first], "two": [second]}, names=["a", "b"], samples=10)
    assert found.results["confusion_names"] == ["a", "b"]
    assert found.results["runs"]["one"]["confusion"] == [[1, 1], [0, 1]]
    assert [tuple(span) for span in found.wrong] == [(1, 0, 1, "a", ["b", "a"])]
    assert format_errors(found.errors).splitlines() == ["errors  one  two", "a as b    1    0"]
    assert format_errors({"two": found.errors["two"]}) == ""
    found.results["runs"]["one"]["auc"] = 0.5
    assert format_scores(found.results).splitlines() == [
        "     accuracy  macro F1     AUC",
        "one    0.6667    0.6667  0.5000",
        "two    1.0000    1.0000        ",
    ]
    lines = format_tests("one", "two", found.results["tests"]["two"]).splitlines()
    assert lines[0].split("  ")[0] == "two - one" and lines[1].startswith("  accuracy")
    assert "+0.3333" in lines[1] and len({len(line) for line in lines}) == 1


def test_rare_errors_are_counted_together():
    true = [[str(number)] for number in range(12)]
    found = compare_outputs(true, {"one": [[["0"]] * 12]}, names=[str(n) for n in range(12)])
    assert format_errors(found.errors).splitlines()[-1].split() == ["other", "errors", "1"]


def test_counts_that_do_not_fit():
    with pytest.raises(ValueError, match="sentence 1 .* has 1 true and 2 predicted tags"):
        reports.span_counts([["O"]], [["O", "O"]], "bio")
    with pytest.raises(ValueError, match="same length; got 2 targets and 1 predictions"):
        reports.label_counts(["a", "b"], ["a"], ["a", "b"])
    with pytest.raises(ValueError, match="'c' is not one of the 2 labels in `names`"):
        reports.label_counts(["a"], ["c"], ["a", "b"])
    with pytest.raises(ValueError, match="'Y' is not one of the 1 types in `types`"):
        reports.span_confusion([["B-X"]], [["B-Y"]], "bio", types=["X"])
    names = reports.span_confusion([["B-X"]], [["B-X"]], "bio", types=["Y", "X"]).names
    assert names == ["Y", "X", "(none)"]
