"""Checks of arguments, with one wording for the whole library."""

import math
import numbers
from collections.abc import Collection, Iterable, Iterator
from typing import Any


def check_integers(least: int, or_none: bool = False, **values: Any) -> None:
    """Raises a ValueError if a value is not an integer of at least `least`.

    >>> check_integers(1, units=0)
    Traceback (most recent call last):
    ValueError: `units` must be at least 1; got 0.
    """
    ending = ", or None" if or_none else ""
    for name, value in values.items():
        if value is None and or_none:
            continue
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            raise ValueError(f"`{name}` must be an integer{ending}; got {value!r}.")
        if value < least:
            raise ValueError(f"`{name}` must be at least {least}{ending}; got {value}.")


def check_dropout(**values: float) -> None:
    """Raises a ValueError if a value is not in [0, 1)."""
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"`{name}` must be at least 0 and below 1; got {value}.")


def check_positive(or_none: bool = False, **values: float | None) -> None:
    """Raises a ValueError if a value is not above 0; with `or_none`, `None` is allowed."""
    for name, value in values.items():
        if value is None and or_none:
            continue
        if value is None or not value > 0:
            ending = ", or None" if or_none else ""
            raise ValueError(f"`{name}` must be above 0{ending}; got {value}.")


def check_temperature(temperature: float | None) -> None:
    """Raises a ValueError if a temperature is not a finite number above 0.

    >>> check_temperature(0.0)
    Traceback (most recent call last):
    ValueError: `temperature` must be a finite number above 0; got 0.0.
    """
    if temperature is None or not 0 < temperature < math.inf:
        raise ValueError(f"`temperature` must be a finite number above 0; got {temperature}.")


def check_not_negative(**values: float) -> None:
    """Raises a ValueError if a value is below 0 or NaN."""
    for name, value in values.items():
        if not value >= 0:
            raise ValueError(f"`{name}` must be at least 0; got {value}.")


def check_choice(choices: Collection[str | None], **values: str | None) -> None:
    """Raises a ValueError if a value is not one of the choices."""
    for name, value in values.items():
        if value not in choices:
            known = ", ".join(choice for choice in choices if choice is not None)
            ending = ", or None" if None in choices else ""
            raise ValueError(f"`{name}` must be one of {known}{ending}; got {value!r}.")


def check_names(**values: Any) -> None:
    """Raises a ValueError if a value is not a non-empty list of distinct, non-empty strings."""
    for name, value in values.items():
        are_names = value and all(isinstance(item, str) and item for item in value)
        if not are_names or len(set(value)) < len(value):
            raise ValueError(
                f"`{name}` must be a non-empty list of distinct, non-empty strings; got {value!r}."
            )


def check_list(name: str, values: Any, kind: str = "texts") -> None:
    """Raises a ValueError if `values` is a string, is not iterable, or contains an invalid text.

    `name` is the argument in the error message, and `kind` is a description of the items. Items are
    checked only if `kind` is `"texts"`: each of them must be a str or a list of tokens.

    >>> check_list("`texts`", ["one", None])
    Traceback (most recent call last):
    ValueError: `texts[1]` must be a string; got None.
    """
    if not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a list of {kind}; got {values!r}.")
    if isinstance(values, str | bytes):
        remedy = "Split it into tokens." if kind == "tokens" else "Put it in a list."
        raise ValueError(
            f"{name} must be a list of {kind}; got the string {values[:40]!r}. {remedy}"
        )
    if kind == "texts" and not isinstance(values, Iterator):
        for number, text in enumerate(values):
            # A list of tokens is accepted as a text.
            if isinstance(text, bytes) or not isinstance(text, Iterable):
                raise ValueError(f"{name[:-1]}[{number}]` must be a string; got {text!r}.")


def as_list(name: str, values: Any, kind: str = "texts") -> list[Any]:
    """Returns the items of an iterable as a list; raises the errors of `check_list`.

    >>> as_list("`texts`", map(str.strip, ["one ", "two "]))
    ['one', 'two']
    """
    check_list(name, values, kind)
    values = list(values)
    check_list(name, values, kind)
    return values
