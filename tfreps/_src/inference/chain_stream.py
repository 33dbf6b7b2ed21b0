"""ChainStream: Viterbi decoding of a chain that grows, with the tags that cannot change."""

import numpy as np

from tfreps._src.layers.ops.chain_recursion import FORBIDDEN


class ChainStream:
    """Viterbi decoder for a chain of tokens that grows at its end.

    For each tag of the last token, the best path that ends in this tag is a survivor. The tag of an
    earlier token is final when all possible survivors agree on it, because the best path of any
    longer chain begins with one of the survivors:

        best_t[j] = max_i(best_{t-1}[i] + transitions[i, j]) + emissions[t, j]

    The scores are float64, and the largest is subtracted at each token, so that sums of float32
    scores are exact in practice however long the chain is. Of paths with equal scores, the one with
    the smaller tag id at the first difference is chosen, as `layers.ops.chain.viterbi` does when
    its float32 sums are exact.

    If more than `max_pending` tokens are undecided, the older half of them is fixed to the tags of
    the best survivor, and survivors with another tag at the last of these tokens are dropped.

    Args:
        transitions, start, end: float arrays, shapes `[K, K]`, `[K]` and `[K]`. Scores of a tag
            after another tag (indexed `[from, to]`), of the first tag and of the last tag.
        max_pending: int. Maximum number of undecided tokens, at least 1.

    Example:
    >>> zeros = np.zeros(2)
    >>> chain = ChainStream(np.array([[0.0, -2.0], [-2.0, 0.0]]), zeros, zeros, max_pending=9)
    >>> for emissions in [1.0, 0.0], [0.0, 9.0], [0.0, 0.0]:
    ...     print(chain.append(np.array([emissions])), chain.best(np.zeros([0, 2])))
    [] [0]
    [] [1, 1]
    [1, 1] [1]
    """

    def __init__(
        self, transitions: np.ndarray, start: np.ndarray, end: np.ndarray, max_pending: int
    ):
        self._steps, self._start, self._end = map(_bounded, (transitions, start, end))
        self._max_pending = max_pending
        # [K], scores of the surviving paths, at most 0; empty before the first token.
        self._scores = np.zeros(0)
        # [K], ranks of these paths by the first tag id in which they differ.
        self._ranks = np.arange(len(start))
        self._first = np.arange(len(start))  # [K], tags of these paths at the first undecided token
        # For each undecided token but the first, [K]: the best previous tag of each tag.
        self._previous: list[np.ndarray] = []
        self._size = 0  # number of undecided tokens

    def append(self, emissions: np.ndarray) -> list[int]:
        """Adds N tokens with emissions `[N, K]`; returns the list of tag ids that became final."""
        final = []
        for row in emissions:
            self._scores, self._ranks, previous = self._advance(self._scores, self._ranks, row)
            if self._size:
                self._previous.append(previous)
            self._first = self._first[previous] if self._size else np.arange(len(row))
            self._size += 1
            if self._size > self._max_pending:
                final += self._agreed()
            if self._size > self._max_pending:
                final += self._fixed()
        return final + self._agreed()

    def best(self, emissions: np.ndarray) -> list[int]:
        """Returns the best tag ids of all undecided tokens if the chain ended after N more tokens.

        `emissions`, `[N, K]`, are the emissions of the N tokens. The result is a list of the tag
        ids of the undecided tokens, followed by the tag ids of the N tokens. The decoder is not
        changed.
        """
        scores, ranks, pointers = self._scores, self._ranks, list(self._previous)
        size = self._size
        for row in emissions:
            scores, ranks, previous = self._advance(scores, ranks, row)
            pointers += [previous] if size else []
            size += 1
        if not size:
            return []
        return _path(pointers, _best(scores + self._end, ranks))

    def _advance(self, scores, ranks, row):
        """Extends the survivors by the next token, whose emissions are `row`, `[K]`.

        Args:
            scores: `[K]`. The score of the survivor that ends in each tag; empty before the first
                token.
            ranks: `[K]`. The rank of each survivor; the lower rank wins between equal scores.
            row: `[K]`. The emissions of the next token.

        Returns:
            The new scores, the new ranks, and the previous tag of each survivor, `[K]` each.
        """
        row = _bounded(row)  # [K]
        tags = np.arange(len(row))
        if not len(scores):
            scores, previous, ranks = self._start + row, tags, tags
        else:
            into = scores[:, None] + self._steps  # [from, to]
            best = into.max(axis=0)
            previous = np.where(into == best, ranks[:, None], len(row)).argmin(axis=0)  # [to]
            scores = best + row
            order = np.argsort(ranks[previous] * len(row) + tags)
            ranks = np.empty_like(tags)
            ranks[order] = tags
        return scores - scores.max(), ranks, previous

    def _agreed(self):
        """Removes the first tokens on whose tags all survivors agree, and returns their tag ids."""
        if not self._size:
            return []
        alive = np.flatnonzero(self._scores > 0.5 * FORBIDDEN)
        if (self._first[alive] != self._first[alive[0]]).any():
            return []
        states, shared = alive, self._size - 1
        while (states != states[0]).any():
            states = self._previous[shared - 1][states]
            shared -= 1
        return self._removed(_path(self._previous[:shared], states[0]))

    def _fixed(self):
        """Removes the older half of the undecided tokens, and returns their tag ids, a list.

        The tags come from the best path. Survivors with another tag at the last of these tokens
        are dropped.
        """
        count = self._size - self._max_pending // 2
        path = _path(self._previous, _best(self._scores, self._ranks))
        # [K], tags of the surviving paths at the last fixed token.
        last = np.arange(len(self._ranks))
        for previous in reversed(self._previous[count - 1 :]):
            last = previous[last]
        self._scores = np.where(last == path[count - 1], self._scores, FORBIDDEN)
        return self._removed(path[:count])

    def _removed(self, tags):
        """Removes the first undecided tokens, whose tag ids are the list `tags`; returns `tags`."""
        self._previous = self._previous[len(tags) :]
        self._size -= len(tags)
        self._first = np.arange(len(self._ranks))
        for previous in reversed(self._previous):
            self._first = previous[self._first]
        return tags


def _path(pointers: list[np.ndarray], last: int) -> list[int]:
    """Returns the list of tag ids of the survivor that ends in the tag `last`.

    `pointers` contains an array `[K]` for each token after the first: for each tag of this token,
    the best tag of the token before it.
    """
    tags = [int(last)]
    for previous in reversed(pointers):
        tags.append(int(previous[tags[-1]]))
    return tags[::-1]


def _best(scores: np.ndarray, ranks: np.ndarray) -> int:
    """Returns the last tag id of the best path.

    `scores` and `ranks`, `[K]`, belong to the path that ends in each tag. Among paths with equal
    scores, the path with the lowest rank is the best.
    """
    return int(np.where(scores == scores.max(), ranks, len(ranks)).argmin())


def _bounded(scores: np.ndarray) -> np.ndarray:
    """Returns the scores as a float64 array, in which lower scores are raised to `FORBIDDEN`."""
    return np.maximum(np.asarray(scores, np.float64), FORBIDDEN)
