"""Option: one row of the table of a command's options, and checks of the values."""

import json
import math
import operator
import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

LARGEST = 2**31 - 1  # largest integer of an option: the limit of int32 tensors
# Levels of options: flags of --help, flags of --help-all, and keys of --config without a flag.
COMMON, ADVANCED, KEY = "common", "advanced", "key"
JSON_TYPES = {
    str: "a string", int: "an integer", float: "a number", bool: "true or false", list: "a list",
}  # fmt: skip


class Option(NamedTuple):
    """Option of a command. A table of options is a dict of name -> `Option`.

    `kind` is the type of the value, or a function that converts a str to the value; `bool` makes a
    switch, with `--no-x` for a switch that is on by default. `must_be` is a pair of a function that
    returns True for valid values, and a description of these values for the error message.
    `cli.option_rules` describes the rules.
    """

    kind: type | Callable[[str], Any]
    default: Any  # `None` means that the option has no default
    about: str  # help text: sentences that end with a period
    choices: Any = None  # list of allowed values
    many: bool = False  # whether the option takes a list of values
    required: bool | str = False  # True, or a rule that says when the option is required
    at_least: float | None = None
    above: float | None = None
    below: float | None = None
    at_most: float | None = None
    must_be: tuple[Callable[[Any], bool], str] | None = None
    needs: str | tuple[str, ...] = ()  # rules, which `cli.option_rules` describes
    excludes: str | tuple[str, ...] = ()
    unused_with: str | tuple[str, ...] = ()
    metavar: str | None = None  # name of the value in the help
    repeated: bool = False  # whether the flag takes one value and may be repeated
    may_be_empty: bool = False  # whether empty strings are valid values
    level: str = COMMON  # level of the option: COMMON, ADVANCED or KEY


def as_flag(name: str) -> str:
    """Returns the flag of an option, such as `--batch-size` for `batch_size`."""
    return f"--{name.replace('_', '-')}"


def as_typed(name: str, table: dict[str, Option]) -> str:
    """Returns what a user types to give an option: its flag or, for a key, `--set NAME`.

    The name `no_x` refers to the switch `x` when it is turned off.
    """
    plain = name if name in table else name.removeprefix("no_")
    if plain not in table or table[plain].level != KEY:
        return as_flag(name)
    if table[plain].kind is bool:
        return f"--set {plain}={'true' if plain == name else 'false'}"
    return f"--set {plain}"


def with_levels(
    table: dict[str, Option], common: Iterable[str], keys: Iterable[str] = ()
) -> dict[str, Option]:
    """Returns a copy of a table of options, in which the level of each option is set.

    The level of the options in `common` is COMMON, and the level of the options in `keys` is KEY.
    The level of all other options is ADVANCED.
    """
    levels = {**dict.fromkeys(keys, KEY), **dict.fromkeys(common, COMMON)}
    return {name: row._replace(level=levels.get(name, ADVANCED)) for name, row in table.items()}


def as_clause(about: str) -> str:
    """Returns the first sentence of a help text without its initial capital and its period."""
    first = about.partition(". ")[0].removesuffix(".")
    return first[:1].lower() + first[1:]


def listed(words: list[str], last: str = "and") -> str:
    """Joins words with commas, and with the conjunction `last` before the last word."""
    return f" {last} ".join([*([", ".join(words[:-1])] if words[1:] else []), *words[-1:]])


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Returns the different paths under short names, for tables and legends.

    A name is the last part of the path, or the whole path if the last parts are not distinct.
    """
    paths = list(dict.fromkeys(paths))
    names = [os.path.basename(os.path.abspath(path)) for path in paths]
    return dict(zip(names if len(set(names)) == len(names) else paths, paths, strict=True))


def default_values(table: dict[str, Option]) -> dict:
    """Returns a dict from the name of each option to its default value."""
    return {name: option.default for name, option in table.items()}


def check_value(name: str, value, option: Option) -> None:
    """Raises a ValueError unless a value, or each of a list of values, fits its option.

    Empty strings, numbers that are not finite and integers of more than 32 bits never fit.
    """
    values = value if isinstance(value, list | tuple) else [value]
    if "" in values and not option.may_be_empty:
        raise ValueError(f"{name} is empty; expected a value, such as the name of a file.")
    if option.kind in (int, float):
        for number in values:
            if isinstance(number, int | float):
                _check_number(name, number, option)
    if option.must_be and value is not None and not option.must_be[0](value):
        raise ValueError(f"{name} must be {option.must_be[1]}; got {value!r}.")


def _check_number(name, number, option):
    bounds = {
        "at least": (option.at_least, operator.ge),
        "above": (option.above, operator.gt),
        "below": (option.below, operator.lt),
        "at most": (option.at_most, operator.le),
    }
    bounds = {word: pair for word, pair in bounds.items() if pair[0] is not None}
    wanted = " and ".join(f"{word} {_short(bound)}" for word, (bound, _) in bounds.items())
    if isinstance(number, float) and not math.isfinite(number):
        wanted = f"a finite number, {wanted}" if wanted else "a finite number"
    elif isinstance(number, int) and abs(number) > LARGEST:
        least = wanted or f"at least -{LARGEST}"
        wanted = least if option.at_most else f"{least} and at most {LARGEST}"
    elif all(holds(number, bound) for bound, holds in bounds.values()):
        return
    raise ValueError(f"{name} must be {wanted}; got {_short(number)}.")


def _short(number):
    """Formats a number. For an integer of more than 40 digits, returns only its size in bits."""
    if isinstance(number, float):
        return f"{number:g}"
    return str(number) if abs(number) < 10**40 else f"an integer of {number.bit_length():,} bits"


def from_json(value, option: Option):
    """Converts a value from a JSON file to the type of its option, and returns the result.

    Raises an error if the value has another type or is not one of the choices of the option.
    """
    if value is None and option.default is None:
        return None
    if option.kind is bool:
        return _exactly(value, bool)
    if option.many or option.repeated:
        return [_converted(item, option) for item in _exactly(value, list)]
    return _converted(value, option)


def from_text(text: str, option: Option):
    """Converts the value in `--set KEY=VALUE` to the type of its option.

    The items of a list are separated by commas.
    """
    is_list = option.many or option.repeated
    values = text.split(",") if is_list else [text]
    if option.kind in (int, float, bool):
        values = [json_or_text(value) for value in values]
    return from_json(values if is_list else values[0], option)


def json_or_text(text: str):
    """Returns the value of a JSON text, or any other text unchanged, so that a check rejects it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _converted(value, option):
    if option.kind in (int, str):
        result = _exactly(value, option.kind)
    elif option.kind is float:
        result = float(value if type(value) is int else _exactly(value, float))
    else:  # `kind` is a function that converts text
        result = option.kind(value if isinstance(value, str) else json.dumps(value))
    if option.choices is not None and result not in option.choices:
        raise ValueError(f"expected one of {', '.join(map(str, option.choices))}; got {value!r}.")
    return result


def _exactly(value, kind):
    if type(value) is not kind:  # not isinstance, for which a bool is also an int
        given = json.dumps(value, ensure_ascii=False)
        raise ValueError(f"expected {JSON_TYPES[kind]}; got {given}.")
    return value
