"""Tag schemes: the roles of their letters and the allowed transitions."""

import functools
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

Scheme = Literal["bio", "iob1", "bioes", "bilou", "bmes"]
SpanMode = Literal["strict", "conlleval"]

OUTSIDE = "O"
# Letter of a scheme -> its role: B begins a span, I is inside it, E ends it, S is a whole span.
LETTERS: dict[Scheme, dict[str, str]] = {
    "bio": {"B": "B", "I": "I"},
    "iob1": {"I": "I", "B": "B"},
    "bioes": {"B": "B", "I": "I", "E": "E", "S": "S"},
    "bilou": {"B": "B", "I": "I", "L": "E", "U": "S"},
    "bmes": {"B": "B", "M": "I", "E": "E", "S": "S"},
}
SCHEMES: tuple[Scheme | None, ...] = (*LETTERS, None)
MODES: tuple[SpanMode, ...] = ("strict", "conlleval")


class TagParts(NamedTuple):
    """Role (`"B"`, `"I"`, `"E"`, `"S"` or `"O"`) and type of a tag."""

    role: str
    type: str


NOTHING = TagParts(OUTSIDE, "")  # represents the start and the end of a sentence


@functools.lru_cache(maxsize=1 << 16)
def tag_parts(tag: str, scheme: Scheme) -> TagParts:
    """Splits a tag into its role and its type; raises a ValueError if the tag is not valid."""
    check_scheme(scheme, plain=False)
    if tag == OUTSIDE:
        return NOTHING
    letter, hyphen, kind = tag.partition("-")
    if letter not in LETTERS[scheme] or (hyphen and not kind):
        raise ValueError(
            f"the tag {tag!r} is not valid in the scheme {scheme!r}: expected O, or one of "
            f"{', '.join(LETTERS[scheme])}, optionally followed by a hyphen and a type"
        )
    return TagParts(LETTERS[scheme][letter], kind)


def check_scheme(scheme: str | None, plain: bool = True) -> None:
    """Raises a ValueError if a tag scheme is not one of `SCHEMES`.

    `None`, the scheme of plain tags without spans, is an error if `plain` is `False`.
    """
    if scheme not in SCHEMES:
        known = ", ".join(map(repr, LETTERS)) + (", or None" if plain else "")
        raise ValueError(f"`scheme` must be one of {known}; got {scheme!r}.")
    if scheme is None and not plain:
        raise ValueError(
            f"Plain tags (`scheme=None`) have no spans; set `scheme` to one of {tuple(LETTERS)}, "
            "or evaluate tokens instead of spans."
        )


def detect_scheme(tags: Iterable[str]) -> Scheme | None:
    """Detects the scheme of a set of tags from their letters, such as the `B` of `B-PER`.

    If several schemes match, the first of `"bio"`, `"bioes"`, `"bilou"` and `"bmes"` is
    returned. `"iob1"` has the same letters as `"bio"` and is returned only if every tag except `O`
    has the letter I. Tags without a type, such as the part of speech `S`, are plain unless one of
    them is `B`. Tags are also plain if only some of them, apart from `O`, have a type.

    Args:
        tags: iterable of str. The tags of a corpus, in any order.

    Returns:
        str, or `None` if the tags are plain or match no scheme.

    Example:
        >>> from tfreps import tags
        >>> tags.detect_scheme(["O", "B-ORG", "M-ORG", "E-ORG", "S-ORG"])
        'bmes'
        >>> tags.detect_scheme(["DT", "NN", "VB"]) is None
        True
    """
    names = set(tags) - {OUTSIDE}
    letters = {name.partition("-")[0] for name in names}
    typed = all(name.partition("-")[2] for name in names)
    if not names or not (typed or letters == names and "B" in letters):
        return None
    if letters == {"I"}:
        return "iob1"
    known: tuple[Scheme, ...] = ("bio", "bioes", "bilou", "bmes")
    return next((scheme for scheme in known if letters <= set(LETTERS[scheme])), None)


def may_follow(tag: TagParts, after: TagParts, scheme: Scheme) -> bool:
    """Returns `True` if `tag` may directly follow the tag `after`.

    Either of them may be `NOTHING`, which represents a sentence boundary.
    """
    same = tag.type == after.type
    if scheme == "bio":
        return tag.role != "I" or (after.role in "BI" and same)
    if scheme == "iob1":
        return tag.role != "B" or (after.role in "BI" and same)
    inside = after.role in "BI"
    return inside == (tag.role in "IE") and (same or not inside)


def starts(tag: TagParts, after: TagParts, scheme: Scheme, mode: SpanMode) -> bool:
    """Returns `True` if a span starts at `tag`, provided that `tag` does not continue a span.

    `after` is the tag before `tag`.
    """
    same = tag.type == after.type
    if mode == "conlleval":
        return tag.role != "O" and (tag.role in "BS" or after.role in "OES" or not same)
    if scheme == "iob1":
        if tag.role == "I":
            return after.role in "OB" or not same
        return tag.role == "B" and after.role in "BI" and same
    return tag.role in "BS"


def continues(tag: TagParts, after: TagParts, scheme: Scheme, mode: SpanMode) -> bool:
    """Returns `True` if `tag` continues a span to which the previous tag `after` belongs."""
    if mode == "conlleval":
        inside = "O" not in (tag.role, after.role)
        return inside and not starts(tag, after, scheme, mode)
    return after.role in "BI" and tag.role in "IE" and tag.type == after.type


def closes(tag: TagParts, after: TagParts, scheme: Scheme, mode: SpanMode) -> bool:
    """Returns `True` if a span that ends before `tag` is complete.

    `after` is the tag before `tag`, and the last tag of the span.
    """
    if mode == "conlleval" or scheme == "bio":
        return True
    if scheme == "iob1":
        return not (after.role == tag.role == "B" and after.type != tag.type)
    return after.role in "ES"


def allowed_transitions(tags: Sequence[str], scheme: Scheme | None) -> np.ndarray:
    """Returns the allowed transitions between tags as an array for `tfreps.layers.CRF`.

    Args:
        tags: sequence of str. The K tags in the order of their ids.
        scheme: str or None. The tag scheme. If `None`, all transitions are allowed.

    Returns:
        bool NumPy array, shape `[K + 2, K + 2]`, indexed `[from, to]`, `True` for allowed
        transitions. Index K is the start of a sentence, and K + 1 is the end. The transition from
        start to end (an empty sentence) is allowed.

    Raises:
        ValueError: If the scheme is unknown or a tag is not valid in it.

    Example:
        >>> from tfreps import tags
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
    """Arrays that define the spans in sequences of the ids of K tags.

    The first three arrays are indexed by the id of the previous tag and the id of the tag. The id K
    represents the sentence boundary.

    Attributes:
        starts: bool `[K + 1, K + 1]`. True where a span starts; see the function `starts`.
        continues: bool `[K + 1, K + 1]`. True where the tag continues the span of the previous tag.
        closes: bool `[K + 1, K + 1]`. True where a span that ends at the previous tag is complete.
        types: int32 `[K + 1]`. The index in `type_names` of the type of each tag; -1 for `O` and
            the boundary.
        type_names: tuple of str. The types in alphabetical order.
    """

    starts: np.ndarray
    continues: np.ndarray
    closes: np.ndarray
    types: np.ndarray
    type_names: tuple[str, ...]


def span_rules(tags: Sequence[str], scheme: Scheme, mode: SpanMode = "strict") -> SpanRules:
    """Returns the `SpanRules` of tags: the rules of `tags.spans`, as arrays indexed by tag ids."""
    check_mode(mode)
    parts = [*_all_parts(tags, scheme), NOTHING]
    starting, continuing, closing = [
        np.array([[rule(tag, after, scheme, mode) for tag in parts] for after in parts])
        for rule in (starts, continues, closes)
    ]
    names = tuple(sorted({part.type for part in parts if part.role != OUTSIDE}))
    types = [names.index(part.type) if part.role != OUTSIDE else -1 for part in parts]
    return SpanRules(starting, continuing, closing, np.array(types, np.int32), names)


def check_mode(mode: str) -> None:
    """Raises a ValueError if `mode` is not one of `MODES`, the modes of the function `spans`."""
    if mode not in MODES:
        raise ValueError(f"`mode` must be one of {MODES}; got {mode!r}.")


def _all_parts(tags: Sequence[str], scheme: Scheme) -> list[TagParts]:
    """Returns a list of the `TagParts` of tags; raises a ValueError if a tag is not valid."""
    check_scheme(scheme, plain=False)
    try:
        return [tag_parts(tag, scheme) for tag in tags]
    except ValueError as error:
        raise ValueError(f"`tags` must match `scheme`; {error}.") from None
