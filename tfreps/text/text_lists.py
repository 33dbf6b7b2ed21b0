"""check_list: rejects anything but a list where a list of texts or tokens is expected."""

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
