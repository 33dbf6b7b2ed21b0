"""Tag schemes: what the letters before a type mean, and which tag may follow which."""

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

OUTSIDE = "O"
# Letter of a scheme -> its role: B begins a span, I is inside, E ends it, S is a span by itself.
LETTERS = {
    "bio": {"B": "B", "I": "I"},
    "iob1": {"I": "I", "B": "B"},
    "bioes": {"B": "B", "I": "I", "E": "E", "S": "S"},
    "bilou": {"B": "B", "I": "I", "L": "E", "U": "S"},
    "bmes": {"B": "B", "M": "I", "E": "E", "S": "S"},
}
SCHEMES = (*LETTERS, None)
MODES = ("strict", "conlleval")


class TagParts(NamedTuple):
    """The two parts of a tag: its role (`"B"`, `"I"`, `"E"`, `"S"` or `"O"`) and its type."""

    role: str
    type: str


NOTHING = TagParts(OUTSIDE, "")  # what stands before the first tag and after the last


@functools.lru_cache(maxsize=1 << 16)
def tag_parts(tag: str, scheme: str) -> TagParts:
    """Splits a tag into its role and its type.

    A tag is `O`, a letter of the scheme alone (its type is then `""`), or letter, hyphen, type.

    Raises:
        ValueError: the tag is outside the scheme.

    Example:
        >>> from tfreps.text.tags import tag_schemes
        >>> tag_schemes.tag_parts("M-ORG", "bmes")
        TagParts(role='I', type='ORG')
    """
    check_scheme(scheme, plain=False)
    if tag == OUTSIDE:
        return NOTHING
    letter, hyphen, kind = tag.partition("-")
    if letter not in LETTERS[scheme] or (hyphen and not kind):
        raise ValueError(
            f"the tag {tag!r} is outside the scheme {scheme!r}: expected O or one of "
            f"{', '.join(LETTERS[scheme])}, followed by a hyphen and a type"
        )
    return TagParts(LETTERS[scheme][letter], kind)


def check_scheme(scheme: str | None, plain: bool = True) -> None:
    """Raises a ValueError if a scheme is unknown, or has no spans and `plain` is False."""
    if scheme not in SCHEMES:
        raise ValueError(f"`scheme` must be one of {SCHEMES}; got {scheme!r}.")
    if scheme is None and not plain:
        raise ValueError(
            f"Plain tags (`scheme=None`) have no spans; give one of {tuple(LETTERS)}, or measure "
            "token by token."
        )


def detect_scheme(tags: Iterable[str]) -> str | None:
    """Detects the scheme of a set of tags by their letters.

    Where a set of tags would do for several schemes, the first of `bio`, `bioes`, `bilou`, `bmes`
    is meant; `"iob1"` has the letters of `"bio"` and is meant only if there is no B. Tags without
    a hyphen, such as a part of speech called `S`, are plain unless one of them is `B`.

    Args:
        tags: the tags of a corpus, in any order.

    Returns:
        str, or None for plain tags.

    Example:
        >>> from tfreps.text import tags
        >>> tags.detect_scheme(["O", "B-ORG", "M-ORG", "E-ORG", "S-ORG"])
        'bmes'
        >>> tags.detect_scheme(["DT", "NN", "VB"]) is None
        True
    """
    tags = set(tags) - {OUTSIDE}
    letters = {tag.partition("-")[0] for tag in tags}
    typed = all(tag.partition("-")[2] for tag in tags)
    if not tags or not (typed or letters == tags and "B" in letters):
        return None
    if letters == {"I"}:
        return "iob1"
    known = ("bio", "bioes", "bilou", "bmes")
    return next((scheme for scheme in known if letters <= set(LETTERS[scheme])), None)


def may_follow(tag: TagParts, after: TagParts, scheme: str) -> bool:
    """Whether a tag may stand directly after another (`NOTHING` for the boundaries)."""
    same = tag.type == after.type
    if scheme == "bio":
        return tag.role != "I" or (after.role in "BI" and same)
    if scheme == "iob1":
        return tag.role != "B" or (after.role in "BI" and same)
    inside = after.role in "BI"
    return inside == (tag.role in "IE") and (same or not inside)


def starts(tag: TagParts, after: TagParts, scheme: str, mode: str) -> bool:
    """Whether a span starts at a tag, unless it continues one (see `continues`)."""
    same = tag.type == after.type
    if mode == "conlleval":
        return tag.role != "O" and (
            tag.role in "BS" or after.role in "OES" or not same  # else it goes on
        )
    if scheme == "iob1":
        if tag.role == "I":
            return after.role in "OB" or not same
        return tag.role == "B" and after.role in "BI" and same
    return tag.role in "BS"


def continues(tag: TagParts, after: TagParts, scheme: str, mode: str) -> bool:
    """Whether a tag continues the span of the tag before it."""
    if mode == "conlleval":
        inside = "O" not in (tag.role, after.role)
        return inside and not starts(tag, after, scheme, mode)
    return after.role in "BI" and tag.role in "IE" and tag.type == after.type


def closes(tag: TagParts, after: TagParts, scheme: str, mode: str) -> bool:
    """Whether a span that ends at a tag is complete."""
    if mode == "conlleval" or scheme == "bio":
        return True
    if scheme == "iob1":
        return not (after.role == tag.role == "B" and after.type != tag.type)
    return after.role in "ES"


def allowed_transitions(tags: Sequence[str], scheme: str | None) -> np.ndarray:
    """Which tag may follow which, for `tfreps.layers.CRF`.

    Args:
        tags: the K tags in the order of their ids.
        scheme: str or None. None allows everything.

    Returns:
        bool NumPy array, shape `[K + 2, K + 2]`, `[from, to]`. Row and column K stand for the
        start, K + 1 for the end of a sentence; start to end (an empty sentence) is allowed.

    Raises:
        ValueError: an unknown scheme, or a tag outside it.

    Example:
        >>> from tfreps.text import tags
        >>> tags.allowed_transitions(["O", "B-X", "I-X"], "bio").astype(int)
        array([[1, 1, 0, 0, 1],
               [1, 1, 1, 0, 1],
               [1, 1, 1, 0, 1],
               [1, 1, 0, 0, 1],
               [0, 0, 0, 0, 0]])
    """
    check_scheme(scheme)
    allowed = np.ones([len(tags) + 2] * 2, bool)  # [from, to]
    if scheme is not None:
        parts = [*_all_parts(tags, scheme), NOTHING, NOTHING]
        allowed[:] = [[may_follow(tag, after, scheme) for tag in parts] for after in parts]
    allowed[:, -2] = allowed[-1, :] = False
    return allowed


class SpanRules(NamedTuple):
    """Arrays over `[before, tag]` that say how tag ids make spans; id K is a boundary.

    `starts`, `continues`, `closes` are bool `[K + 1, K + 1]`; `types` int32 `[K + 1]` holds each
    tag's place in `type_names`, -1 for `O` and the boundary.
    """

    starts: np.ndarray
    continues: np.ndarray
    closes: np.ndarray
    types: np.ndarray
    type_names: tuple[str, ...]


def span_rules(tags: Sequence[str], scheme: str, mode: str = "strict") -> SpanRules:
    """Makes the rules of `tags.spans` as arrays over tag ids."""
    check_mode(mode)
    parts = [*_all_parts(tags, scheme), NOTHING]
    tables = [
        np.array([[rule(tag, after, scheme, mode) for tag in parts] for after in parts])
        for rule in (starts, continues, closes)
    ]
    names = tuple(sorted({part.type for part in parts if part.role != OUTSIDE}))
    types = [names.index(part.type) if part.role != OUTSIDE else -1 for part in parts]
    return SpanRules(*tables, np.array(types, np.int32), names)


def check_mode(mode: str) -> None:
    """Raises a ValueError if a way of reading spans is unknown."""
    if mode not in MODES:
        raise ValueError(f"`mode` must be one of {MODES}; got {mode!r}.")


def _all_parts(tags: Sequence[str], scheme: str) -> list[TagParts]:
    """The parts of every tag of a list of tags."""
    check_scheme(scheme, plain=False)
    try:
        return [tag_parts(tag, scheme) for tag in tags]
    except ValueError as error:
        raise ValueError(f"In the list of {len(tags)} tags, {error}.") from None
