"""Tags of tokens: schemes, spans, conversion, validation and ids."""

from tfreps._src.text.tags import (
    MODES,
    SCHEMES,
    Span,
    TagSet,
    allowed_transitions,
    check,
    check_mode,
    check_scheme,
    convert,
    detect_scheme,
    illegal_transitions,
    spans,
    spans_to_tags,
)

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
