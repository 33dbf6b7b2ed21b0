"""Probabilities of spans under a CRF, in plain NumPy: spans.md explains each function.

The arguments `scores` are those of docs/by_hand/crf.py: emissions, transitions, start and end.
"""

import numpy as np

from docs.by_hand.crf import all_scores, log_normalizer, log_sum_exp


def bio_spans(names):
    """Returns the spans (type, start, end) of the names of tags in BIO; the end is exclusive."""
    spans = []
    for t, name in enumerate(names):
        letter, _, kind = name.partition("-")
        if letter == "B":
            spans.append((kind, t, t + 1))
        elif letter == "I":
            spans[-1] = (kind, spans[-1][1], t + 1)
    return spans


def span_probabilities(scores, spans_of):
    """p(span) = sum of p(y) over all paths y whose spans, `spans_of(y)`, contain the span."""
    paths = all_scores(*scores)
    log_z = log_sum_exp(paths.values())
    found = {}
    for path, value in paths.items():
        if value > -np.inf:  # the path is allowed
            for span in spans_of(path):
                found[span] = found.get(span, 0.0) + np.exp(value - log_z)
    return found


def span_log_probability(span, names, emissions, transitions, start, end):
    """log p(span) = log Z of the paths that contain the span - log Z of all paths, in BIO."""
    kind, first, last = span
    inside = np.ones(emissions.shape, bool)  # [T, K], tags of the paths that contain the span
    inside[first] = [name == f"B-{kind}" for name in names]
    inside[first + 1 : last] = [name == f"I-{kind}" for name in names]
    inside[last : last + 1] = [name != f"I-{kind}" for name in names]  # the span ends before this
    within = log_normalizer(np.where(inside, emissions, -np.inf), transitions, start, end)
    return within - log_normalizer(emissions, transitions, start, end)
