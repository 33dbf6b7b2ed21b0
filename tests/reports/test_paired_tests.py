"""Paired tests compared with plain loops, with all swaps and all samples, and by hand."""

import itertools
import sys

import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps import reports

NAMES = ["precision", "recall", "f1", "accuracy"]


def counts(seed, sentences=30):
    """Returns random counts of two systems, `[N, 5]` each, with the same true spans and tags."""
    rng = np.random.default_rng(seed)
    true, tags = rng.integers(0, 4, sentences), rng.integers(4, 9, sentences)
    systems = []
    for _ in range(2):
        correct = rng.integers(0, true + 1)
        predicted, right = correct + rng.integers(0, 3, sentences), rng.integers(0, tags + 1)
        systems.append(np.stack([correct, predicted, true, right, tags], axis=1))
    return systems


def scores(rows):
    """Returns the scores of one system on a list of rows of counts, with plain Python."""
    correct, predicted, true, right, tags = (sum(int(row[i]) for row in rows) for i in range(5))
    return {
        "precision": correct / predicted if predicted else 0.0,
        "recall": correct / true if true else 0.0,
        "f1": 2 * correct / (predicted + true) if predicted + true else 0.0,
        "accuracy": right / tags,
    }


def loop(first, second, samples, seed):
    """Returns the results of `paired_tests`, sample by sample and sentence by sentence."""
    rng, number = np.random.default_rng(seed), len(first)
    difference = {n: scores(second)[n] - scores(first)[n] for n in NAMES}
    drawn = {name: [] for name in NAMES}
    for _ in range(samples):
        chosen = [int(i) for i in rng.integers(number, size=number)]
        ours, theirs = scores([first[i] for i in chosen]), scores([second[i] for i in chosen])
        for name in NAMES:
            drawn[name].append(theirs[name] - ours[name])
    extreme = dict.fromkeys(NAMES, 0)
    for _ in range(samples):
        ours, theirs = [], []
        for i, draw in enumerate(rng.random(number)):
            pair = (second[i], first[i]) if draw < 0.5 else (first[i], second[i])
            ours.append(pair[0])
            theirs.append(pair[1])
        ours, theirs = scores(ours), scores(theirs)
        for name in NAMES:
            extreme[name] += abs(theirs[name] - ours[name]) >= abs(difference[name]) - 1e-12
    found = {}
    for name in NAMES:
        below = sum(d <= 1e-12 for d in drawn[name])
        above = sum(d >= -1e-12 for d in drawn[name])
        low, high = np.quantile(drawn[name], [0.025, 0.975])
        found[name] = {
            "first": scores(first)[name],
            "second": scores(second)[name],
            "difference": difference[name],
            "low": low,
            "high": high,
            "bootstrap_p": min(1.0, 2 * (1 + min(below, above)) / (1 + samples)),
            "randomization_p": (1 + extreme[name]) / (1 + samples),
        }
    return found


@pytest.mark.parametrize("seed, chunk", [(0, None), (7, 100), (7, 1)])
def test_the_results_are_those_of_a_plain_loop(seed, chunk, monkeypatch):
    if chunk:
        monkeypatch.setattr(sys.modules["tfreps._src.reports.paired_tests"], "CHUNK", chunk)
    first, second = counts(seed)
    found = reports.paired_tests(first, second, reports.span_scores, samples=300, seed=seed)
    expected = loop(first, second, samples=300, seed=seed)
    for name in NAMES:
        for p in "bootstrap_p", "randomization_p":
            assert found[name][p] == pytest.approx(expected[name][p], rel=1e-14)
        assert_close(found[name], expected[name])


def test_randomization_approximates_all_swaps():
    first, second = (system[:10] for system in counts(3))
    difference = {n: scores(second)[n] - scores(first)[n] for n in NAMES}
    extreme = dict.fromkeys(NAMES, 0)
    for swaps in itertools.product([False, True], repeat=10):
        pairs = [
            (b, a) if swap else (a, b) for swap, a, b in zip(swaps, first, second, strict=True)
        ]
        ours, theirs = (scores(rows) for rows in zip(*pairs, strict=True))
        for name in NAMES:
            extreme[name] += abs(theirs[name] - ours[name]) >= abs(difference[name]) - 1e-12
    found = reports.paired_tests(first, second, reports.span_scores, samples=20_000)
    for name in NAMES:
        exact = extreme[name] / 2**10
        assert 0.01 < exact < 1
        error = 4 * np.sqrt(exact * (1 - exact) / 20_000)
        assert found[name]["randomization_p"] == pytest.approx(exact, abs=error + 1e-4)


def test_the_bootstrap_approximates_all_samples():
    first, second = np.array([[2.0], [1.0], [0.0], [3.0]]), np.array([[3.0], [1.0], [1.0], [2.0]])
    every = [
        (second - first)[list(chosen), 0].sum() for chosen in itertools.product(range(4), repeat=4)
    ]
    exact = 2 * min(np.mean(np.array(every) <= 0), np.mean(np.array(every) >= 0))
    assert 0.1 < exact < 1
    found = reports.paired_tests(first, second, lambda sums: {"sum": sums[:, 0]}, samples=20_000)
    error = 8 * np.sqrt(0.25 / 20_000)
    assert found["sum"]["bootstrap_p"] == pytest.approx(exact, abs=error)
    limits = np.quantile(every, [0.025, 0.975])
    assert [found["sum"]["low"], found["sum"]["high"]] == limits.tolist() == [-2, 4]


def test_by_hand():
    """One sentence: each bootstrap sample repeats it, and each swap has the same difference."""
    found = reports.paired_tests([[1.0]], [[3.0]], lambda sums: {"x": sums[:, 0]}, samples=99)
    assert found == {
        "x": {
            "first": 1.0,
            "second": 3.0,
            "difference": 2.0,
            "low": 2.0,
            "high": 2.0,
            "bootstrap_p": 2 / 100,  # no sample has a difference of at most 0
            "randomization_p": 1.0,  # a swap changes only the sign
        }
    }


def test_two_sentences_by_hand():
    """Without swaps or with two, the difference is 3 or -3; with one swap, it is 1 or -1."""
    found = reports.paired_tests(
        [[0.0], [0.0]], [[1.0], [2.0]], lambda sums: {"x": sums[:, 0]}, samples=10_000
    )["x"]
    assert found["randomization_p"] == pytest.approx(0.5, abs=0.02)
    assert (found["low"], found["high"]) == (2.0, 4.0)


def test_exchanged_systems_have_the_same_p_values():
    first, second = counts(5)
    one = reports.paired_tests(first, second, reports.span_scores, samples=500)
    other = reports.paired_tests(second, first, reports.span_scores, samples=500)
    for name in NAMES:
        assert one[name]["difference"] == -other[name]["difference"]
        assert_close(one[name]["low"], -other[name]["high"])
        for p in "bootstrap_p", "randomization_p":
            assert one[name][p] == other[name][p]


def test_equal_systems_do_not_differ():
    first, _ = counts(1)
    found = reports.paired_tests(first, first, reports.span_scores, samples=50)
    for test in found.values():
        assert test["difference"] == test["low"] == test["high"] == 0.0
        assert test["bootstrap_p"] == test["randomization_p"] == 1.0


def test_p_values_of_equal_systems_are_uniform():
    """Two systems with the same distribution: about 5% of the p-values are below 0.05."""
    below = {"bootstrap_p": 0, "randomization_p": 0}
    for seed in range(400):
        pair = np.random.default_rng(1000 + seed).random((2, 60, 1)) < 0.8
        found = reports.paired_tests(*pair, lambda sums: {"x": sums[:, 0]}, samples=200)["x"]
        for p in below:
            below[p] += found[p] < 0.05
    assert all(3 <= number <= 38 for number in below.values()), below


def test_what_cannot_be_tested():
    first, second = counts(0)
    with pytest.raises(ValueError, match=r"same shape.* \(30, 5\) and \(29, 5\)"):
        reports.paired_tests(first, second[1:], reports.span_scores)
    with pytest.raises(ValueError, match="at least one sentence"):
        reports.paired_tests(first[:0], second[:0], reports.span_scores)
    with pytest.raises(ValueError, match="`samples` must be at least 1; got 0"):
        reports.paired_tests(first, second, reports.span_scores, samples=0)
    with pytest.raises(ValueError, match="`seed` must be at least 0; got -1"):
        reports.paired_tests(first, second, reports.span_scores, seed=-1)
