"""Checks of constructor arguments, with one wording for all layers and models."""

import numbers


def check_integers(least, or_none=False, **values):
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


def check_dropout(**values):
    """Raises a ValueError if a value is not in [0, 1)."""
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"`{name}` must be at least 0 and below 1; got {value}.")


def check_positive(or_none=False, **values):
    """Raises a ValueError if a value is not above 0, and is not `None` where that is allowed."""
    for name, value in values.items():
        if not (or_none and value is None) and not value > 0:
            ending = ", or None" if or_none else ""
            raise ValueError(f"`{name}` must be above 0{ending}; got {value}.")


def check_choice(choices, **values):
    """Raises a ValueError if a value is not one of the choices."""
    for name, value in values.items():
        if value not in choices:
            known = ", ".join(choice for choice in choices if choice is not None)
            ending = ", or None" if None in choices else ""
            raise ValueError(f"`{name}` must be one of {known}{ending}; got {value!r}.")


def check_names(**values):
    """Raises a ValueError if a value is not a non-empty list of distinct, non-empty strings."""
    for name, value in values.items():
        are_names = value and all(isinstance(item, str) and item for item in value)
        if not are_names or len(set(value)) < len(value):
            raise ValueError(
                f"`{name}` must be a non-empty list of distinct, non-empty strings; got {value!r}."
            )
