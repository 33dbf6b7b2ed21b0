"""Checks of arguments, with one wording for all functions of texts and of data."""

from collections.abc import Iterable


def check_list(name: str, values, kind: str = "texts") -> None:
    """Raises a ValueError if `values` is a string or a single object, not a list."""
    if not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a list of {kind}; got {values!r}.")
    if isinstance(values, str | bytes):
        remedy = "Split it into tokens." if kind == "tokens" else "Put it in a list."
        raise ValueError(
            f"{name} must be a list of {kind}; got the string {values[:40]!r}. {remedy}"
        )


def check_at_least(least: float, **given: float | None) -> None:
    """Raises a ValueError if one of the numbers is too small; `None` stands for no limit."""
    for name, value in given.items():
        if value is not None and value < least:
            raise ValueError(f"`{name}` must be at least {least}; got {value}.")
