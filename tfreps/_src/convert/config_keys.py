"""Keys in the configs of other libraries: matching options, checks of values, and defaults."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

# Upper bound for all sizes, which are read before the weights and may be wrong.
LARGEST = 1 << 24
REQUIRED = object()


Check = Callable[[Any], tuple[str, bool]]


class Key(NamedTuple):
    """A key of a config, the matching option of a model, and the default value.

    `theirs` is the key; dots separate the names of nested objects, as in `lstm.dim`. `ours` is the
    name of the option. `check` maps a value to a tuple `(expected, good)`: a description of valid
    values, and whether this value is valid.
    """

    theirs: str
    ours: str
    check: Check
    default: Any = REQUIRED


def value_of(config: Mapping[str, Any], key: Key, source: str) -> Any:
    """Returns the value of a key in a config, or its default value.

    Raises:
        ValueError: If the key is required and missing, or if its value is invalid.
    """
    *outer, name = key.theirs.split(".")
    for number, part in enumerate(outer, 1):
        inner = config.get(part)
        if not isinstance(inner, Mapping):
            path = ".".join(outer[:number])
            raise ValueError(
                f"{source}: `{path}` must be a JSON object; got {inner!r}. Use the original file."
            )
        config = inner
    value = config.get(name, key.default)
    expected, good = key.check(value)
    if value is REQUIRED:
        raise ValueError(
            f"{source}: `{key.theirs}` is missing; expected {expected}. Use the original file."
        )
    if not good:
        raise ValueError(
            f"{source}: `{key.theirs}` must be {expected}; got {value!r}. Correct the file, or "
            "use the original file."
        )
    return value


def whole(least: int, most: int) -> Check:
    """Returns a `Check` that accepts the whole numbers from `least` to `most`."""
    return lambda value: (
        f"a whole number from {least} to {most}",
        _is_int(value) and least <= value <= most,
    )


size = whole(1, LARGEST)
num_blocks = whole(1, 1024)


def share(value: Any) -> tuple[str, bool]:
    """Returns a description of valid values, and whether `value` is a number in [0, 1).

    The description is a str for an error message.
    """
    return "a number in [0, 1)", _is_number(value) and 0 <= value < 1


def positive(value: Any) -> tuple[str, bool]:
    """Returns a description of valid values, and whether `value` is a positive finite number.

    The description is a str for an error message.
    """
    return "a positive number", _is_number(value) and 0 < value < math.inf


def clip(value: Any) -> tuple[str, bool]:
    """Returns a description of valid values, and whether `value` is a positive number or `None`.

    The description is a str for an error message.
    """
    return "a positive number or null", value is None or positive(value)[1]


def token_id(value: Any) -> tuple[str, bool]:
    """Returns a description of valid values, and whether `value` is a token id or `None`.

    The description is a str for an error message.
    """
    return "a token id or null", value is None or _is_int(value) and 0 <= value < LARGEST


def flag(value: Any) -> tuple[str, bool]:
    """Returns a description of valid values, and whether `value` is a bool.

    The description is a str for an error message.
    """
    return "true or false", isinstance(value, bool)


def one_of(*values: str | int, shown: str) -> Check:
    """Returns a `Check` that accepts only `values`.

    `shown` describes these values in error messages.
    """
    return lambda value: (shown, isinstance(value, str | int) and value in values)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
