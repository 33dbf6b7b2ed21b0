"""Reads spans from sequences of tags, converts between schemes, and validates tags."""

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tfreps._src.text.tags.tag_schemes import (
    LETTERS,
    NOTHING,
    OUTSIDE,
    Scheme,
    SpanMode,
    TagParts,
    check_mode,
    check_scheme,
    closes,
    continues,
    may_follow,
    starts,
    tag_parts,
)


class Span(NamedTuple):
    """Span of a sentence: a type and the positions `start` and `end` (exclusive) of its tokens."""

    type: str
    start: int
    end: int


def spans(tags: Sequence[str], scheme: Scheme, mode: SpanMode = "strict") -> list[Span]:
    """Finds the spans of a sentence.

    The modes differ only on illegal sequences. With `"strict"`, a span counts only if it is written
    exactly as the scheme requires, as in seqeval with `mode="strict"`: `I-X` after `O` in BIO is
    not a span. With `"conlleval"`, every tag except `O` belongs to a span, and a span starts
    where the type changes, at B or S, and after E or S, as in conlleval.pl and in seqeval's
    default mode.

    Args:
        tags: sequence of str. The tags of one sentence.
        scheme: str. `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`.
        mode: str. `"strict"` or `"conlleval"`, which agree on legal sequences. Defaults to
            `"strict"`.

    Returns:
        list of `Span(type, start, end)`, named tuples of a str and two ints, from left to right.
        Spans never overlap, and `end` is exclusive.

    Raises:
        ValueError: If a tag is not valid in the scheme, or `scheme` or `mode` is unknown.

    Example:
        >>> from tfreps import tags
        >>> tags.spans(["B-PER", "I-PER", "O", "I-LOC"], "bio")
        [Span(type='PER', start=0, end=2)]
        >>> tags.spans(["B-PER", "I-PER", "O", "I-LOC"], "bio", mode="conlleval")[1]
        Span(type='LOC', start=3, end=4)
    """
    check_scheme(scheme, plain=False)
    check_mode(mode)
    reader = SpanReader(scheme, mode)
    parts = (_parts_at(tags, position, scheme) for position in range(len(tags)))
    found = [reader.read(tag) for tag in itertools.chain(parts, [NOTHING])]
    return [span for span in found if span is not None]


class SpanReader:
    """Reader that finds the spans in a sequence of tags, which it reads one at a time.

    `mode`, `"strict"` or `"conlleval"`, selects the rules for illegal sequences; see `spans`.
    `start` is the position of the first tag of the span that may continue, or `None`.
    """

    def __init__(self, scheme: Scheme, mode: SpanMode = "strict"):
        self.scheme: Scheme = scheme
        self.mode: SpanMode = mode
        self.start: int | None = None
        self._position = 0
        self._before = NOTHING

    def read(self, tag: TagParts) -> Span | None:
        """Reads the next tag, or `NOTHING` after the last one.

        Returns the span that ends before this tag, or `None` if none does.
        """
        before, scheme, mode = self._before, self.scheme, self.mode
        found = None
        if self.start is None or not continues(tag, before, scheme, mode):
            if self.start is not None and closes(tag, before, scheme, mode):
                found = Span(before.type, self.start, self._position)
            self.start = self._position if starts(tag, before, scheme, mode) else None
        self._before = tag
        self._position += 1
        return found


def spans_to_tags(spans: Iterable[tuple[str, int, int]], length: int, scheme: Scheme) -> list[str]:
    """Converts spans to tags.

    Args:
        spans: iterable of tuples `(type, start, end)` with an exclusive end, in any order, without
            overlaps.
        length: int. Number of tokens of the sentence.
        scheme: str. Scheme of the tags.

    Returns:
        list of str. One tag per token.

    Raises:
        ValueError: If a span is empty, overlaps another span or extends beyond the sentence, or
            `scheme` is unknown.

    Example:
        >>> from tfreps import tags
        >>> tags.spans_to_tags([("PER", 0, 3), ("LOC", 3, 4)], 5, "bioes")
        ['B-PER', 'I-PER', 'E-PER', 'S-LOC', 'O']
    """
    check_scheme(scheme, plain=False)
    letters = {role: letter for letter, role in LETTERS[scheme].items()}
    tags = [OUTSIDE] * length
    before = None
    for kind, start, end in sorted(spans, key=lambda span: (span[1], span[2])):
        first_free = before.end if before else 0
        if not first_free <= start < end <= length:
            raise ValueError(
                f"The span {kind!r} from {start} to {end} in `spans` is empty, overlaps "
                f"another span, or extends beyond the sentence of {length} tokens. Correct or "
                "remove this span."
            )
        roles = ["B"] + ["I"] * (end - start - 1)
        if scheme == "iob1" and (before is None or before[::2] != (kind, start)):
            roles[0] = "I"  # B only separates adjacent spans of the same type
        elif "E" in letters:
            roles[-1] = "E" if len(roles) > 1 else "S"
        suffix = f"-{kind}" if kind else ""
        tags[start:end] = [letters[role] + suffix for role in roles]
        before = Span(kind, start, end)
    return tags


def convert_scheme(tags: Sequence[str], from_scheme: Scheme, to_scheme: Scheme) -> list[str]:
    """Converts the tags of a sentence to another scheme.

    Args:
        tags: sequence of str. The tags of one sentence, legal in `from_scheme`.
        from_scheme: str. Scheme of `tags`.
        to_scheme: str. Scheme of the result.

    Returns:
        list of str. One tag per token.

    Raises:
        ValueError: If a scheme is unknown or `None`, a tag is not valid in `from_scheme`, or there
            is an illegal transition. Illegal transitions are not repaired.

    Example:
        >>> from tfreps import tags
        >>> tags.convert_scheme(["I-PER", "I-PER", "B-PER", "O"], "iob1", "bmes")
        ['B-PER', 'E-PER', 'S-PER', 'O']
    """
    illegal = illegal_transitions(tags, from_scheme)
    if illegal:
        at = illegal[0]
        before = repr(tags[at - 1]) if at else "the start of the sentence"
        after = repr(tags[at]) if at < len(tags) else "the end of the sentence"
        raise ValueError(
            f"`tags` must be legal in {from_scheme!r} to be converted: {after} follows {before} "
            f"(token {min(at + 1, len(tags))} of {len(tags)}). Correct the tags, or read the spans "
            "with `spans(..., mode='conlleval')` and convert them with `spans_to_tags`."
        )
    return spans_to_tags(spans(tags, from_scheme), len(tags), to_scheme)


def illegal_transitions(tags: Sequence[str], scheme: Scheme | None) -> list[int]:
    """Finds the illegal transitions in a sentence.

    Args:
        tags: sequence of str. The tags of one sentence.
        scheme: str or None. The tag scheme. If `None`, all transitions are allowed.

    Returns:
        list of int. Contains i if tag i may not follow the previous tag or the start of the
        sentence, and `len(tags)` if the sentence may not end after its last tag. The list is empty
        for a legal sequence.

    Raises:
        ValueError: If the scheme is unknown or a tag is not valid in it.

    Example:
        >>> from tfreps import tags
        >>> tags.illegal_transitions(["O", "I-PER", "E-PER", "B-LOC"], "bioes")
        [1, 4]
    """
    check_scheme(scheme)
    if scheme is None:
        return []
    parts = [_parts_at(tags, position, scheme) for position in range(len(tags))]
    pairs = zip([*parts, NOTHING], [NOTHING, *parts], strict=True)
    return [i for i, (tag, after) in enumerate(pairs) if not may_follow(tag, after, scheme)]


def check(
    tags: Sequence[str],
    scheme: Scheme | None,
    source: str = "tags",
    line: int | Sequence[int] | None = None,
) -> int:
    """Checks that the tags of a sentence are valid in a scheme, and counts illegal transitions.

    Illegal transitions do not raise an error, because published corpora contain them. The caller
    decides how to treat them.

    Args:
        tags: sequence of str. The tags of one sentence.
        scheme: str or None. The tag scheme. If `None`, the tags are plain.
        source: str. Name of the file in error messages. Defaults to `"tags"`.
        line: int, sequence of int, or None. Line number of the sentence or of each tag, counted
            from 1. If `None`, error messages contain no line number. Defaults to `None`.

    Returns:
        int. Number of illegal transitions, including those from the start and to the end of the
        sentence.

    Raises:
        ValueError: If a tag is blank, not a string or not valid in the scheme, or the scheme is
            unknown. The message about a tag names the tag, the file and, if known, the line.

    Example:
        >>> from tfreps import tags
        >>> tags.check(["O", "I-PER"], "bio")
        1
        >>> tags.check(["O", "PER"], "bio", "train.txt", line=[17, 18])
        Traceback (most recent call last):
        ValueError: train.txt, line 18: the tag 'PER' is not valid in the scheme 'bio': ...
    """
    check_scheme(scheme)
    for position, tag in enumerate(tags):
        if not isinstance(tag, str) or not tag.strip():
            raise ValueError(f"{place(source, line, position)}: expected a tag; got {tag!r}.")
        if scheme is not None:
            try:
                tag_parts(tag, scheme)
            except ValueError as error:
                raise not_valid(place(source, line, position), error) from None
    return len(illegal_transitions(tags, scheme))


def not_valid(where: str, error: ValueError) -> ValueError:
    """Returns a copy of an error of `tag_parts`, with the location of the tag and a remedy."""
    return ValueError(
        f"{where}: {error}. Correct the tag, or set `scheme` to the scheme of the text, or to "
        "none for tags without spans."
    )


def place(source: str, line: int | Sequence[int] | None, position: int) -> str:
    """Returns the location of a tag for error messages, such as `"train.txt, line 3"`.

    `line` is the line number of the sentence or of each tag, or `None`. `position` is the index of
    the tag in its sentence.
    """
    if line is None:
        return f"{source}, token {position + 1}"
    if isinstance(line, int):
        return f"{source}, line {line}, token {position + 1}"
    return f"{source}, line {line[position]}"


def _parts_at(tags: Sequence[str], position: int, scheme: Scheme) -> TagParts:
    try:
        return tag_parts(tags[position], scheme)
    except ValueError as error:
        raise ValueError(f"Token {position + 1} of {len(tags)}: {error}.") from None
