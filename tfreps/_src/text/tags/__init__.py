"""Tags of tokens: schemes, spans, conversion, validation and ids."""

from tfreps._src.text.tags.tag_schemes import (
    MODES,
    SCHEMES,
    allowed_transitions,
    check_mode,
    check_scheme,
    detect_scheme,
)
from tfreps._src.text.tags.tag_sequences import (
    Span,
    check,
    convert,
    illegal_transitions,
    spans,
    spans_to_tags,
)
from tfreps._src.text.tags.tag_set import TagSet

__all__ = [
    "MODES",
    "SCHEMES",
    "Span",
    "TagSet",
    "allowed_transitions",
    "check",
    "check_mode",
    "check_scheme",
    "convert",
    "detect_scheme",
    "illegal_transitions",
    "spans",
    "spans_to_tags",
]
