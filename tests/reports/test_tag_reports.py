"""Reports compared with seqeval, scikit-learn and manual calculations."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests import seqeval_oracle
from tests.closeness import assert_close
from tests.conftest import CHECKOUT
from tfreps import reports
from tfreps._src.text.tags.tag_schemes import LETTERS
from tfreps.tags import MODES


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scheme", LETTERS)
def test_span_report_is_seqeval(scheme, mode):
    true = seqeval_oracle.random_sentences(scheme, 300, seed=1)
    pred = seqeval_oracle.noisy(true, scheme, seed=2)
    found = [
        [{(i, *s) for i, tags in enumerate(x) for s in seqeval_oracle.spans(tags, scheme, mode)}]
        for x in (true, pred)
    ]
    (true_spans,), (pred_spans,) = found
    report = reports.span_report(true, pred, scheme, mode)
    for kind, row in [*report["types"].items(), (None, report["micro"])]:
        gold, guess = ({s for s in x if kind in (None, s[1])} for x in (true_spans, pred_spans))
        assert_close(
            row,
            {
                "precision": len(gold & guess) / len(guess),
                "recall": len(gold & guess) / len(gold),
                "f1": 2 * len(gold & guess) / (len(gold) + len(guess)),
                "support": len(gold),
            },
        )
    for name in "precision", "recall", "f1":
        mean = np.mean([row[name] for row in report["types"].values()])
        assert_close(report["macro"][name], mean)


def test_span_report_by_hand():
    true = [["B-X", "I-X", "O"], ["B-Y"]]
    report = reports.span_report(true, [["B-X", "I-X", "B-Z"], ["O"]], "bio")
    half = {"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2}
    nothing = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert report["micro"] == half
    assert report["types"]["Z"] == nothing | {"support": 0}
    assert report["types"]["Y"] == nothing | {"support": 1}
    assert_close(report["macro"]["f1"], 1 / 3)
    assert json.loads(json.dumps(report)) == report


def test_no_spans_at_all():
    report = reports.span_report([["O"]], [["O"]], "bmes")
    assert report["types"] == {} and report["micro"]["f1"] == report["macro"]["f1"] == 0.0
    assert reports.format_report(report).splitlines()[1].split()[0] == "micro"


def test_classification_report_is_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics", reason="pip install scikit-learn, the oracle")
    rng = np.random.default_rng(0)
    true = rng.choice(["a", "b", "c"], size=200, p=[0.7, 0.2, 0.1]).tolist()
    pred = [str(rng.choice(["a", "b", "d"])) if rng.random() < 0.4 else t for t in true]
    report = reports.classification_report(true, pred)
    theirs = metrics.classification_report(true, pred, output_dict=True, zero_division=0)
    assert_close(report["accuracy"], theirs.pop("accuracy"))
    rows = report["labels"] | {f"{name} avg": report[name] for name in ("macro", "weighted")}
    assert rows.keys() == theirs.keys()
    for name, row in theirs.items():
        row["f1"] = row.pop("f1-score")
        assert_close(rows[name], row)
    expected = metrics.confusion_matrix(true, pred, labels=["d", "c", "b", "a"])
    counts = reports.confusion_counts(true, pred, ["d", "c", "b", "a"])
    np.testing.assert_array_equal(counts, expected)
    assert json.loads(json.dumps(report)) == report


def test_labels_that_do_not_occur_have_rows_too():
    report = reports.classification_report(["a"], ["a"], names=["b", "a"])
    assert list(report["labels"]) == ["b", "a"] and report["labels"]["b"]["support"] == 0


def test_illegal_transitions_are_counted():
    sentences = [["I-X", "O", "I-X"], ["B-X"], []]
    expected = {"illegal": 2, "transitions": 7, "sentences": 1}
    assert reports.illegal_transition_report(sentences, "bio") == expected
    assert reports.illegal_transition_report(sentences, None)["illegal"] == 0


def test_what_does_not_fit_together():
    with pytest.raises(ValueError, match="same length; got 2 targets and 1 predictions"):
        reports.classification_report(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="sentence 2 .* has 1 true and 2 predicted tags"):
        reports.span_report([["O"], ["O"]], [["O"], ["O", "O"]], "bio")
    with pytest.raises(ValueError, match="at least one example"):
        reports.span_report([], [], "bio")
    with pytest.raises(ValueError, match="'c' is not one of the 2 labels in `names`"):
        reports.confusion_counts(["a"], ["c"], ["a", "b"])
    with pytest.raises(ValueError, match="not valid in the scheme"):
        reports.span_report([["X"]], [["O"]], "bio")


def test_loads_no_tensorflow():
    code = "import sys, tfreps.reports; assert not {'tensorflow', 'keras'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=CHECKOUT)


def test_span_table():
    report = reports.span_report([["B", "O"]], [["B", "I"]], "bio", mode="conlleval")
    assert reports.format_report(report).splitlines() == [
        "       precision   recall       f1  support",
        "_         0.0000   0.0000   0.0000        1",
        "micro     0.0000   0.0000   0.0000        1",
        "macro     0.0000   0.0000   0.0000        1",
    ]


def test_label_table():
    report = reports.classification_report(["a", "b", "b"], ["a", "b", "a"])
    assert reports.format_report(report).splitlines() == [
        "          precision   recall       f1  support",
        "a            0.5000   1.0000   0.6667        1",
        "b            1.0000   0.5000   0.6667        2",
        "macro        0.7500   0.7500   0.6667        3",
        "weighted     0.8333   0.6667   0.6667        3",
        "accuracy     0.6667",
    ]


def test_confusion_table():
    counts = reports.confusion_counts(["a", "long"] * 6, ["a"] * 12, ["a", "long"])
    assert reports.format_confusion(counts, ["a", "long"]).splitlines() == [
        "      a  long",
        "a     6     0",
        "long  6     0",
    ]
