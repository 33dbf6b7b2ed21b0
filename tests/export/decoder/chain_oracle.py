"""Decodes a sentence by enumerating its legal paths, with the code of docs/by_hand/."""

import numpy as np

from docs.by_hand import crf, spans
from tfreps import tags as tag_functions


def enumerated(names, scheme, logits, real, scores=None):
    """Decodes a sentence by enumerating all of its legal paths.

    `logits` are `[T, K]`, and `real` is bool `[T]`. Returns a dict: `paths`, a list of pairs of
    the tags of the real tokens and their probability, the most probable first; `tags` and
    `confidences`, `[T]`; and `spans`, a list of pairs of `(type, start, end)` and a probability.
    """
    size, tokens = len(names), np.flatnonzero(real)
    scores = scores or (np.zeros([size, size]), np.zeros(size), np.zeros(size))
    scores = logits[tokens].astype("float64"), *constrained(names, scheme, scores)
    paths = crf.all_scores(*scores)
    total = crf.log_sum_exp(paths.values())
    paths = [(path, np.exp(score - total)) for path, score in paths.items() if score > -np.inf]
    paths.sort(key=lambda path: -path[1])
    found = {
        "paths": paths,
        "tags": np.zeros(len(real), int),
        "confidences": np.zeros(len(real)),
        "spans": [],
    }
    best = paths[0][0]
    for number, t in enumerate(tokens):
        found["tags"][t] = best[number]
        found["confidences"][t] = sum(p for path, p in paths if path[number] == best[number])
    if scheme is not None:

        def spans_of(path):
            return tag_functions.spans([names[tag] for tag in path], scheme)

        shares = spans.span_probabilities(scores, spans_of)
        found["spans"] = [(tuple(span), shares[span]) for span in spans_of(best)]
    return found


def constrained(names, scheme, scores):
    """Returns transition, start and end scores with -inf where the scheme forbids a step."""
    scores = [np.asarray(score, "float64") for score in scores]
    if scheme is None:
        return scores
    return crf.constrained(tag_functions.allowed_transitions(names, scheme), *scores)
