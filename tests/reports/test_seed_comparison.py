"""Comparisons of runs with several seeds, against plain loops over seeds, samples and sentences."""

import numpy as np
import pytest

from tests import seqeval_oracle
from tests.closeness import assert_close
from tfreps._src.reports.comparison import compare_outputs, format_errors, format_scores
from tfreps.tags import spans

SAMPLES, SEED = 200, 5
LABELS = ["a", "b", "c"]
TRUE = seqeval_oracle.random_sentences("bio", 30, seed=1)
TEXTS = np.random.default_rng(2).choice(LABELS, 40, p=[0.6, 0.3, 0.1]).tolist()


def f1(true, pred):
    """Returns the F1 of spans; both arguments are lists of sets of spans."""
    total = sum(len(t) + len(p) for t, p in zip(true, pred, strict=True))
    right = sum(len(t & p) for t, p in zip(true, pred, strict=True))
    return 2 * right / total if total else 0.0


def macro_f1(true, pred):
    """Returns the mean F1 of the labels of lists of texts, which are lists of one label."""
    found = []
    for label in LABELS:
        total = true.count([label]) + pred.count([label])
        right = sum(t == p == [label] for t, p in zip(true, pred, strict=True))
        found.append(2 * right / total if total else 0.0)
    return np.mean(found)


def difference(score, true, first, second):
    """Returns the mean score of the models of `second` minus that of the models of `first`."""
    ours, theirs = ([score(true, pred) for pred in models] for models in (first, second))
    return np.mean(theirs) - np.mean(ours)


def loop(score, true, first, second):
    """Returns the entries of `paired_tests` for lists of models, sample by sample.

    A swap exchanges the outputs of the models of `first` and `second` with the same number.
    """
    rng, number = np.random.default_rng(SEED), len(true)
    original = difference(score, true, first, second)
    drawn = []
    for _ in range(SAMPLES):
        chosen = rng.integers(number, size=number)
        systems = [[[pred[i] for i in chosen] for pred in models] for models in (first, second)]
        drawn.append(difference(score, [true[i] for i in chosen], *systems))
    extreme = 0
    for _ in range(SAMPLES):
        ours, theirs = [[*pred] for pred in first], [[*pred] for pred in second]
        for i in np.flatnonzero(rng.random(number) < 0.5):
            for a, b in zip(ours, theirs, strict=True):
                a[i], b[i] = b[i], a[i]
        extreme += abs(difference(score, true, ours, theirs)) >= abs(original) - 1e-12
    side = min(sum(d <= 1e-12 for d in drawn), sum(d >= -1e-12 for d in drawn))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {
        "first": np.mean([score(true, pred) for pred in first]),
        "second": np.mean([score(true, pred) for pred in second]),
        "difference": original,
        "low": low,
        "high": high,
        "bootstrap_p": min(1.0, 2 * (1 + side) / (1 + SAMPLES)),
        "randomization_p": (1 + extreme) / (1 + SAMPLES),
    }


def check(found, expected):
    for p in "bootstrap_p", "randomization_p":
        assert found[p] == pytest.approx(expected[p], rel=1e-14)
    assert 0.01 < expected["randomization_p"] < 1
    assert_close(found, expected)


def span_sets(sentences):
    return [set(spans(tags, "bio")) for tags in sentences]


def noisy_tags(*seeds):
    return [seqeval_oracle.noisy(TRUE, "bio", seed=seed) for seed in seeds]


def noisy_labels(share, *seeds):
    """Returns the labels of a model for each seed: a share of the true labels is replaced."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        replaced = rng.random(len(TEXTS)) < share
        others = rng.choice(LABELS, len(TEXTS)).tolist()
        found.append([[b if r else a] for a, b, r in zip(TEXTS, others, replaced, strict=True)])
    return found


@pytest.mark.parametrize("numbers", [(3, 3), (1, 3), (2, 1)])
def test_means_of_span_f1_over_seeds(numbers):
    first, second = noisy_tags(*range(numbers[0])), noisy_tags(*range(10, 10 + numbers[1]))
    found = compare_outputs(TRUE, {"one": first, "two": second}, "bio", samples=SAMPLES, seed=SEED)
    true, most = span_sets(TRUE), max(numbers)
    first, second = ([span_sets(pred) for pred in models] for models in (first, second))
    repeated = (models * (most // len(models)) for models in (first, second))
    check(found.results["tests"]["two"]["f1"], loop(f1, true, *repeated))
    for run, models in (("one", first), ("two", second)):
        own, values = found.results["runs"][run], [f1(true, pred) for pred in models]
        assert_close(own["f1"], np.mean(values))
        assert ("std" in own) == ("values" in own) == (len(models) > 1)
        if len(models) > 1:
            assert_close(own["std"]["f1"], np.std(values, ddof=1))
            assert_close(own["values"]["f1"], values)


def test_means_of_macro_f1_over_seeds():
    true = [[label] for label in TEXTS]
    first, second = noisy_labels(0.3, 0, 1), noisy_labels(0.2, 2, 3)
    more = {"one": {"auc": [0.5, 0.8]}, "two": {"auc": [0.75, 0.75]}}
    found = compare_outputs(true, {"one": first, "two": second}, None, LABELS, SAMPLES, SEED, more)
    check(found.results["tests"]["two"]["macro_f1"], loop(macro_f1, true, first, second))
    assert list(found.results["tests"]["two"]) == ["accuracy", "macro_f1"]
    own = found.results["runs"]["one"]
    assert_close(own["auc"], 0.65)
    assert_close(own["std"]["auc"], np.std([0.5, 0.8], ddof=1))
    single = compare_outputs(true, {str(n): [pred] for n, pred in enumerate(first)}, None, LABELS)
    matrices = [run["confusion"] for run in single.results["runs"].values()]
    assert own["confusion"] == np.sum(matrices, axis=0).tolist()


def test_tables_of_seeds_by_hand():
    true = [["a"], ["b"], ["b"], ["b"]]
    first = [[["a"], ["b"], ["b"], ["a"]], [["a"], ["b"], ["b"], ["b"]]]  # accuracy 0.75 and 1
    outputs = {"one": first, "two": [[["a"], ["a"], ["a"], ["b"]]]}
    found = compare_outputs(true, outputs, None, ["a", "b"], 10)
    assert found.results["runs"]["one"]["accuracy"] == 0.875
    assert found.results["runs"]["one"]["confusion"] == [[2, 0], [1, 5]]
    assert format_scores(found.results).splitlines() == [
        "            accuracy         macro F1",
        "one  0.8750 ± 0.1768  0.8667 ± 0.1886",
        "two  0.5000           0.5000         ",
    ]
    assert format_errors(found.errors).splitlines() == ["errors  one  two", "b as a    1    2"]
    assert [(x.sentence, x.predicted) for x in found.wrong] == [
        (1, ["b", "b", "a"]),
        (2, ["b", "b", "a"]),
        (3, ["a", "b", "b"]),
    ]
