"""Posterior of spans compared with the enumeration of all tag sequences, for every scheme."""

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import crf
from docs.by_hand.spans import span_probabilities
from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import MASKS, Problem
from tfreps import tags as tag_sequences
from tfreps._src.layers.ops import chain, chain_gradient, chain_spans
from tfreps._src.layers.ops.chain_recursion import Chain
from tfreps._src.text.tags.span_states import span_states
from tfreps._src.text.tags.tag_schemes import LETTERS
from tfreps.tags import allowed_transitions

SCHEMES = ["bio", "iob1", "bioes", "bilou", "bmes"]
LENGTH = len(MASKS[0])


def names_of(scheme):
    """Returns tags of two types, or of one if the scheme has many letters."""
    types = "A" if len(LETTERS[scheme]) > 2 else "AB"
    return ["O"] + [f"{letter}-{kind}" for kind in types for letter in LETTERS[scheme]]


def random_problem(names, scheme=None, masks=MASKS, scale=1.0, seed=0):
    """Returns a `Problem`, in which a scheme forbids the steps that are not valid in it."""
    problem = Problem.random(masks, len(names), scale, seed)
    if scheme is None:
        return problem
    return Problem(*problem[:2], *crf.constrained(allowed_transitions(names, scheme), *problem[2:]))


def enumerated(problem, row, names, scheme, mode="strict"):
    """Returns a dict from each span, `(type id, start, end)`, to its probability."""
    kinds = sorted({name.partition("-")[2] for name in names} - {""})

    def spans_of(path):
        spans = tag_sequences.spans([names[tag] for tag in path], scheme, mode)
        return [(kinds.index(kind), start, end) for kind, start, end in spans]

    return span_probabilities(problem.scores(row), spans_of)


def all_spans(length, num_types, num_rows):
    """Returns all spans of a sentence, and two forms of padding, `[B, N, 3]`."""
    starts = range(length)
    spans = [(k, s, e + 1) for k in range(num_types) for s in starts for e in range(s, length)]
    return np.tile([[*spans, (-1, 0, 0), (0, 0, 0)]], [num_rows, 1, 1])


@pytest.mark.parametrize("mode", ["strict", pytest.param("conlleval", marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_legal", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_spans_have_the_enumerated_probability(scheme, is_legal, mode):
    names = names_of(scheme)
    problem = random_problem(names, scheme if is_legal else None)
    states = span_states(names, scheme, mode)
    spans = all_spans(LENGTH, len(states.members), len(MASKS))
    found = np.exp(chain_spans.span_log_probability(*scored(problem, spans), states))
    likely, values = chain_spans.likely_spans(*scored(problem), states, 0.03)
    for row in range(len(MASKS)):
        expected = enumerated(problem, row, names, scheme, mode)
        wanted = [expected.get(tuple(span), 0.0) for span in spans[row]]
        assert_close(found[row], wanted, magnitude=1.0)
        above = {span: value for span, value in expected.items() if value >= 0.03}
        chosen = {
            tuple(span): value
            for span, value in zip(likely[row].numpy().tolist(), np.exp(values[row]), strict=True)
            if value > 0
        }
        assert list(chosen) == sorted(chosen, key=lambda span: -chosen[span])
        assert_close(chosen, above, magnitude=1.0)


def scored(problem, *spans):
    emissions = np.where(problem.mask[..., None], problem.emissions, 0.0).astype("float32")
    return tf.constant(emissions), *spans, tf.constant(problem.mask), *problem[2:]


@pytest.mark.parametrize("scale", [30.0, 1000.0])
def test_large_scores_are_computed_in_log_space(scale):
    names = names_of("bio")
    problem = random_problem(names, "bio", scale=scale)
    is_exact = chain_gradient.forward_backward(Chain.of(*scored(problem)))["exact"]
    assert not is_exact
    states = span_states(names, "bio")
    spans = all_spans(LENGTH, len(states.members), len(MASKS))
    found = np.exp(chain_spans.span_log_probability(*scored(problem, spans), states))
    for row in range(len(MASKS)):
        expected = enumerated(problem, row, names, "bio")
        wanted = [expected.get(tuple(span), 0.0) for span in spans[row]]
        assert_close(found[row], wanted, magnitude=scale)  # the error of the scores


@pytest.mark.slow
@pytest.mark.parametrize("size", [50, pytest.param(3000, marks=pytest.mark.slow)])
def test_spans_of_one_token_have_marginals_in_long_sentences(size):
    """In BMES, S-A is exactly the span of one token, which gives the result for any length."""
    names = names_of("bmes")
    rng = np.random.default_rng(0)
    problem = random_problem(names, "bmes", rng.random([2, size]) < 0.9, scale=3.0)
    states = span_states(names, "bmes")
    lengths = problem.mask.sum(1)
    start = np.tile(np.arange(size), [2, 1])
    spans = np.stack([0 * start, start, start + 1], -1)
    found = np.exp(chain_spans.span_log_probability(*scored(problem, spans), states))
    marginals = chain.marginals(*scored(problem)).numpy()[..., names.index("S-A")]
    likely, values = chain_spans.likely_spans(*scored(problem), states, 0.2)
    for row, length in enumerate(lengths):
        expected = marginals[row][problem.mask[row]]
        assert_close(found[row, :length], expected, magnitude=3.0)
        assert not found[row, length:].any()
        again = chain_spans.span_log_probability(*scored(problem, likely), states)[row]
        assert_close(np.exp(again), np.exp(values[row]), magnitude=3.0)
        one = (likely[row, :, 2] - likely[row, :, 1] == 1) & (likely[row, :, 0] == 0)
        assert set(likely[row, :, 1].numpy()[one]) == set(np.flatnonzero(expected >= 0.2))


def test_scores_that_are_nan_and_sentences_that_are_impossible():
    names = ["O", "B-A", "I-A"]
    problem = random_problem(names, masks=[[1, 1], [1, 1]])
    problem.emissions[1, 0, 0] = np.nan
    states = span_states(names, "bio")
    spans = np.array([[(0, 0, 1), (-1, 0, 0), (0, 1, 3), (1, 0, 1)]] * 2)
    found = chain_spans.span_log_probability(*scored(problem, spans), states).numpy()
    assert np.isfinite(found[0, 0]) and np.isnan(found[1, 0])
    assert (found[:, 1:] == -np.inf).all()
    assert chain_spans.likely_spans(*scored(problem), states, 0.01)[0][1, 0].numpy()[0] == -1
    problem.emissions[1, 0] = -np.inf
    found = chain_spans.span_log_probability(*scored(problem, spans), states).numpy()
    assert np.isfinite(found[0, 0]) and (found[1] == -np.inf).all()


def test_batches_without_tokens_or_types():
    problem = random_problem(["O"], masks=[[1, 1]])
    states = span_states(["O"], "bio")
    assert chain_spans.span_log_probability(*scored(problem, [[(0, 0, 1)]]), states) == -np.inf
    assert chain_spans.likely_spans(*scored(problem), states, 0.5)[0].shape == (1, 0, 3)
    names = names_of("bio")
    empty = random_problem(names, masks=np.zeros([2, 0]))
    spans = np.zeros([2, 0, 3], int)
    states = span_states(names, "bio")
    assert chain_spans.span_log_probability(*scored(empty, spans), states).shape == (2, 0)
    assert chain_spans.likely_spans(*scored(empty), states, 0.5)[0].shape == (2, 0, 3)
