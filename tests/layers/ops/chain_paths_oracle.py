"""Enumerates all paths of a linear chain in float64."""

import itertools
from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """Scores of chains: emissions, mask, transitions, start and end."""

    emissions: np.ndarray
    mask: np.ndarray
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @classmethod
    def random(cls, masks, num_tags=3, scale=1.0, seed=0):
        rng, mask = np.random.default_rng(seed), np.array(masks, bool)
        shapes = (*mask.shape, num_tags), (num_tags, num_tags), (num_tags,), (num_tags,)
        e, *scores = ((scale * rng.normal(size=shape)).astype("float32") for shape in shapes)
        e[~mask] = np.nan  # masked values must not be read
        return cls(e, mask, *scores)

    def paths(self, row):
        """Returns (tags at the real tokens, score) for every path of a row."""
        emissions = self.emissions[row][self.mask[row]].astype(float)
        for tags in itertools.product(range(len(self.start)), repeat=len(emissions)):
            score = sum(e[tag] for e, tag in zip(emissions, tags, strict=True))
            for before, tag in itertools.pairwise(tags):
                score += self.transitions[before, tag]
            if tags:
                score += self.start[tags[0]] + self.end[tags[-1]]
            yield tags, score

    def best(self, row, k=1):
        return sorted(self.paths(row), key=lambda path: -path[1])[:k]

    @property
    def magnitude(self):
        """The largest finite score: scores of paths may cancel."""
        scores = np.concatenate([np.ravel(x) for x in (self.emissions[self.mask], *self[2:])])
        return np.abs(scores[np.isfinite(scores) & (scores > -1e30)]).max()

    def log_normalizer(self, row):
        return np.logaddexp.reduce([score for _, score in self.paths(row)])

    def marginals(self, row):
        total, result = self.log_normalizer(row), np.zeros(self.emissions.shape[1:])
        for tags, score in self.paths(row):
            if score > -np.inf:
                for t, tag in zip(np.flatnonzero(self.mask[row]), tags, strict=True):
                    result[t, tag] += np.exp(score - total)
        return result


# Full, right padding, left padding, a hole, padding and a hole, one token, no token.
MASKS = [
    [1, 1, 1, 1],
    [1, 1, 1, 0],
    [0, 1, 1, 1],
    [1, 0, 1, 1],
    [1, 0, 0, 1],
    [0, 0, 1, 0],
    [0, 0, 0, 0],
]
