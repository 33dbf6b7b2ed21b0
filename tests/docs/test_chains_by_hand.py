"""Recursions of docs/by_hand/, which other tests use as oracles, against its enumerations."""

import numpy as np
import pytest

from docs.by_hand import crf, hmm, spans
from tests.closeness import FLOAT64, assert_close

NAMES = ["O", "B-X", "I-X"]
BIO = np.ones([5, 5], bool)
BIO[0, 2] = BIO[3, 2] = False


def random_scores(length, allowed):
    rng = np.random.default_rng(length)
    emissions, *scores = (rng.normal(size=size) for size in ([length, 3], [3, 3], 3, 3))
    return emissions, *crf.constrained(allowed, *scores)


@pytest.mark.parametrize("allowed", [BIO, BIO | True], ids=["bio", "all"])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_crf(length, allowed):
    scores = random_scores(length, allowed)
    paths = crf.all_scores(*scores)
    ranked = sorted(paths, key=paths.get, reverse=True)[:7]
    log_z = crf.log_sum_exp(paths.values())
    assert_close(crf.log_normalizer(*scores), log_z, unit=FLOAT64)
    assert crf.viterbi(*scores)[0] == ranked[0]
    best = crf.k_best(*scores, k=7)
    possible = [path for path in ranked if paths[path] > -np.inf]
    assert [path for _, path in best][: len(possible)] == possible
    assert_close([value for value, _ in best], [paths[path] for path in ranked], unit=FLOAT64)
    expected = np.zeros([length, 3])
    for path, value in paths.items():
        expected[range(length), path] += np.exp(value - log_z)
    # An error of a score is a relative error of its exponential.
    assert_close(crf.marginals(*scores), expected, unit=FLOAT64, magnitude=1 + abs(log_z))


@pytest.mark.parametrize("length", [1, 4])
def test_gradient(length):
    scores, path = random_scores(length, BIO | True), (1, 2, 0, 0)[:length]
    for n, found in enumerate(crf.gradient(path, *scores)):

        def log_likelihood(array, n=n):
            changed = *scores[:n], array, *scores[n + 1 :]
            return crf.score(path, *changed) - crf.log_normalizer(*changed)

        # The step is 1e-5: rounding gives errors of 1e-16 / 1e-5, and curvature about 1e-10.
        assert found == pytest.approx(crf.slopes(log_likelihood, scores[n]), abs=1e-8)


def test_spans():
    scores = random_scores(5, BIO)
    found = spans.span_probabilities(scores, lambda y: spans.bio_spans([NAMES[k] for k in y]))
    assert len(found) == 15
    for span, share in found.items():
        log_share = spans.span_log_probability(span, NAMES, *scores)
        assert_close(np.exp(log_share), share, unit=FLOAT64, magnitude=1.0)


@pytest.mark.parametrize("length", [1, 5])
def test_hmm(length):
    rng = np.random.default_rng(0)
    pi, end = rng.random(3), np.array([0.3, 0.0, 0.2])
    model = rng.integers(0, 4, length), pi, rng.dirichlet(np.ones(3), 3), rng.random([3, 4]), end
    joints = hmm.all_joints(*model)
    total, best = sum(joints.values()), max(joints, key=joints.get)
    assert_close(hmm.log_likelihood(*model), np.log(total), unit=FLOAT64)
    tags, log_p = hmm.viterbi(*model)
    assert tuple(tags) == best
    assert_close(log_p, np.log(joints[best]), unit=FLOAT64)
    expected = np.zeros([length, 3])
    for path, p in joints.items():
        expected[range(length), path] += p / total
    assert_close(hmm.posteriors(*model), expected, unit=FLOAT64)


def test_words():
    words = ["他", "在", "中国科学院", "工作"]
    assert hmm.tags_of(words) == "SSBMMMEBE"
    assert hmm.words_of("".join(words), hmm.tags_of(words)) == words
