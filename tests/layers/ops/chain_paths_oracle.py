"""Batches of linear chains with masks; docs/by_hand/crf.py enumerates their paths in float64."""

from typing import NamedTuple

import numpy as np

from docs.by_hand import crf


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

    def scores(self, row):
        """Returns the scores of a row at its real tokens: the arguments of docs/by_hand/crf.py."""
        scores = self.emissions[row][self.mask[row]], self.transitions, self.start, self.end
        return [np.asarray(part, "float64") for part in scores]

    def paths(self, row):
        """Returns (tags at the real tokens, score) for every path of a row."""
        return crf.all_scores(*self.scores(row)).items()

    def best(self, row, k=1):
        return sorted(self.paths(row), key=lambda path: -path[1])[:k]

    @property
    def magnitude(self):
        """The largest finite score: scores of paths may cancel."""
        scores = np.concatenate([np.ravel(x) for x in (self.emissions[self.mask], *self[2:])])
        return np.abs(scores[np.isfinite(scores) & (scores > -1e30)]).max()

    def log_normalizer(self, row):
        return crf.log_sum_exp(score for _, score in self.paths(row))

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
