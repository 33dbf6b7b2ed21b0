"""SpanStates: the spans of a scheme as pairs of neighboring states, for the posterior of spans."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfreps._src.text.tags.tag_schemes import Scheme, SpanMode, SpanRules, span_rules


class SpanStates(NamedTuple):
    """Tables by which spans are found from pairs of neighboring states in a tag sequence.

    There are S states. A sequence contains a span from `s` to `e` (exclusive) if `begins` is True
    for the states at `s - 1` and `s`, `stays` is True for each pair of neighboring states within
    the span, and `ends` is True for the states at `e - 1` and `e`. Row S of a table represents the
    position before the first token, and column S the end of the sentence. The states are the tags,
    except in `"iob1"`: there, `I-X` after `B-X` begins a span or continues one, depending on the
    tag before `B-X`, so that each tag has one state outside an open span and one inside. Every tag
    sequence has exactly one sequence of states.

    Attributes:
        tags: int32 `[S]`. The tag id of each state.
        steps: bool `[S + 1, S + 1]`, [from, to]. True for pairs that occur in a sequence of states.
        begins: bool `[S + 1, S + 1]`. True where a span begins. The last column is False.
        ends: bool `[S + 1, S + 1]`. True where a span that includes the first state ends, and is
            complete. The last row is False.
        members: int32 `[types, W]`. The states inside spans of each type, padded with S.
        stays: bool `[types, W, W]`. True where a span of a type continues.
    """

    tags: np.ndarray
    steps: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    members: np.ndarray
    stays: np.ndarray


def span_states(tags: Sequence[str], scheme: Scheme, mode: SpanMode = "strict") -> SpanStates:
    """Returns the `SpanStates` of the K tags of a scheme.

    `mode`, `"strict"` or `"conlleval"`, selects the rules for illegal sequences; see `tags.spans`.
    """
    rules = span_rules(tags, scheme, mode)
    boundary = len(tags)
    # True if some tags start or continue a span, depending on whether one is open.
    depends = bool((rules.starts & rules.continues).any())
    copies = [False, True] if depends else [True]
    pairs = [(tag, is_open) for is_open in copies for tag in range(boundary)]
    before, is_open = (np.array(part) for part in zip(*pairs, (boundary, False), strict=True))
    pair = np.ix_(before, before)
    continues = rules.continues[pair] & is_open[:, None]
    begins = rules.starts[pair] & ~continues
    steps = (begins | continues) == is_open if depends else np.ones_like(begins)
    steps[:, -1] = True
    ends = ~continues & rules.closes[pair] & is_open[:, None]
    begins[:, -1] = ends[-1] = False
    members = _members(rules, before[:-1], is_open[:-1])
    within = members[:, :, None], members[:, None, :]
    return SpanStates(before[:-1].astype(np.int32), steps, begins, ends, members, continues[within])


def _members(rules: SpanRules, tags: np.ndarray, is_open: np.ndarray) -> np.ndarray:
    """Returns the states inside spans of each type, int32 `[types, W]`, padded with S.

    S is the number of states, and W is the largest number of states of a type.
    """
    rows = [
        np.flatnonzero((rules.types[tags] == kind) & is_open)
        for kind in range(len(rules.type_names))
    ]
    members = np.full([len(rows), max(map(len, rows), default=0)], len(tags), np.int32)
    for row, found in zip(members, rows, strict=True):
        row[: len(found)] = found
    return members
