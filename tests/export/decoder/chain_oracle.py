"""Decoding in plain NumPy: by enumerating all legal paths, and by dynamic programming."""

import itertools

import numpy as np

from tfreps import tags as tag_functions


def enumerated(names, scheme, logits, real, scores=None):
    """Decodes a sentence by enumerating all of its legal paths.

    `logits` are `[T, K]`, and `real` is bool `[T]`. Returns a dict: `paths`, a list of pairs of
    the tags of the real tokens and their probability, the most probable first; `tags` and
    `confidences`, `[T]`; and `spans`, a list of pairs of `(type, start, end)` and a probability.
    """
    size, tokens = len(names), np.flatnonzero(real)
    scores = scores or (np.zeros([size, size]), np.zeros(size), np.zeros(size))
    transitions, start, end = (np.asarray(part, "float64") for part in scores)
    paths = []
    for path in itertools.product(range(size), repeat=len(tokens)):
        if not tag_functions.illegal_transitions([names[tag] for tag in path], scheme):
            score = sum(float(logits[t, tag]) for t, tag in zip(tokens, path, strict=True))
            score += sum(transitions[a, b] for a, b in itertools.pairwise(path))
            score += start[path[0]] + end[path[-1]] if path else 0.0
            paths.append((path, score))
    total = np.logaddexp.reduce([score for _, score in paths])
    paths = sorted(((path, np.exp(score - total)) for path, score in paths), key=lambda x: -x[1])
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
        spans = [
            set(tag_functions.spans([names[tag] for tag in path], scheme)) for path, _ in paths
        ]
        for span in sorted(spans[0], key=lambda span: span.start):
            share = sum(p for each, (_, p) in zip(spans, paths, strict=True) if span in each)
            found["spans"].append((tuple(span), share))
    return found


def best_path(emissions, transitions, start, end):
    """Viterbi: returns the best path for emissions `[T, K]`, and its score."""
    score, back = start + emissions[0], []
    for row in emissions[1:]:
        every = score[:, None] + transitions  # [from, to]
        back.append(every.argmax(0))
        score = every.max(0) + row
    score = score + end
    path = [int(score.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1], score.max()


def log_normalizer(emissions, transitions, start, end):
    """Log of the sum of `exp(score)` over all paths, for emissions `[T, K]`."""
    score = start + emissions[0]
    for row in emissions[1:]:
        score = np.logaddexp.reduce(score[:, None] + transitions, axis=0) + row
    return np.logaddexp.reduce(score + end)


def marginals(emissions, transitions, start, end):
    """Probability of each tag at each token (forward-backward), `[T, K]`."""
    forward, backward = [start + emissions[0]], [end]
    for row in emissions[1:]:
        forward.append(np.logaddexp.reduce(forward[-1][:, None] + transitions, axis=0) + row)
    for row in emissions[:0:-1]:
        backward.append(np.logaddexp.reduce(transitions + row + backward[-1], axis=1))
    scores = np.array(forward) + np.array(backward[::-1])
    return np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])


def constrained(names, scheme, scores):
    """Returns transition, start and end scores with -inf where the scheme forbids a step."""
    allowed = tag_functions.allowed_transitions(names, scheme)
    size = len(names)
    parts = allowed[:size, :size], allowed[size, :size], allowed[:size, size + 1]
    scores = [np.asarray(score, "float64") for score in scores]
    return [np.where(part, score, -np.inf) for part, score in zip(parts, scores, strict=True)]
