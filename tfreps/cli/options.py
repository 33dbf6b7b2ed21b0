"""Options of a program: flags override a JSON file, which overrides the defaults."""

import argparse
import difflib
import itertools
import json
import math
import operator
import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from tfreps.cli.option_rules import as_clause, as_flag, check_rules, when_required
from tfreps.files.json_files import read_json

LARGEST = 2**31 - 1  # largest integer of an option: the limit of int32 tensors
JSON_TYPES = {
    str: "a string", int: "an integer", float: "a number", bool: "true or false", list: "a list",
}  # fmt: skip
OF_A_COMMAND = "run", "resume", "overwrite", "minutes"  # not inherited by a resumed run


class Option(NamedTuple):
    """Option of a program. A table of options is a dict of name -> `Option`.

    Args:
        kind: type of the value, or function that converts a str to the value. `bool` makes a
            switch, with `--no-x` for a switch that is on by default.
        default: default value. `None` means that there is none.
        about: str. Help text: sentences that end with a period.
        choices: list of allowed values. If `None`, all values are allowed.
        many: bool. Whether the flag takes a list of values. Defaults to `False`.
        required: bool, or rule that says when the option is required (see
            `tfreps.cli.option_rules.check_rules`). Defaults to `False`.
        at_least: inclusive lower bound of a number. If `None`, there is no such bound.
        above: exclusive lower bound of a number. If `None`, there is no such bound.
        below: exclusive upper bound of a number. If `None`, there is no such bound.
        at_most: inclusive upper bound of a number. If `None`, there is no such bound.
        must_be: pair of a function that returns True for valid values, and a description of these
            values for the error message. If `None`, nothing else is checked.
        needs: rule or tuple of rules that name the options without which this option has no effect
            (see `tfreps.cli.option_rules.check_rules`). Defaults to `()`.
        excludes: rule or tuple of rules that name the options that this option cannot be combined
            with. Defaults to `()`.
        unused_with: rule or tuple of rules that name the options with which this option may be
            given but has no effect. Defaults to `()`.
    """

    kind: type
    default: Any
    about: str
    choices: Any = None
    many: bool = False
    required: bool | str = False
    at_least: float | None = None
    above: float | None = None
    below: float | None = None
    at_most: float | None = None
    must_be: tuple[Callable[[Any], bool], str] | None = None
    needs: str | tuple[str, ...] = ()
    excludes: str | tuple[str, ...] = ()
    unused_with: str | tuple[str, ...] = ()


def add_flags(group, options: dict[str, Option]) -> None:
    """Adds the flag `--a-name` to a parser or a group for each option `a_name`.

    Args:
        group: `argparse.ArgumentParser`, or a group that its `add_argument_group` returned.
        options: dict of name -> `Option`.

    Example:
    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> add_flags(parser, {"num_steps": Option(int, 9, "Number of steps.")})
    >>> parser.parse_args(["--num-steps", "3"])
    Namespace(num_steps=3)
    """
    for name, option in options.items():
        flag = as_flag(name)
        if option.kind is bool:
            action = argparse.BooleanOptionalAction if option.default else "store_true"
            given = group.add_argument(flag, action=action, default=option.default)
            given.help = option.about  # to which some versions of Python would add the default
            continue
        more = {"nargs": "+"} if option.many else {}
        if option.choices:
            more["choices"] = option.choices
        else:
            more["metavar"] = {int: "N", float: "X"}.get(option.kind)
        about = " ".join(filter(None, [option.about, when_required(option)]))
        given = group.add_argument(
            flag, type=option.kind, default=option.default, help=about, **more
        )
        given.option = option  # for `parse_options`


def default_values(*tables: dict[str, Option]) -> dict:
    """Returns the default values of options.

    Args:
        *tables: dicts of name -> `Option`.

    Example:
    >>> default_values({"units": Option(int, 9, "Width.")}, {"fast": Option(bool, False, "Hurry.")})
    {'units': 9, 'fast': False}
    """
    return {name: option.default for table in tables for name, option in table.items()}


def check_options(options, *tables: dict[str, Option]) -> None:
    """Checks that required options are given, values are valid, and each given option is used.

    Args:
        options: namespace that `parse_options` returned.
        *tables: dicts of name -> `Option`.

    Raises:
        ValueError: If an option fails a check. The message names the flag of the first such option.

    Example:
    >>> import argparse
    >>> check_options(argparse.Namespace(units=0), {"units": Option(int, 9, "Width.", at_least=1)})
    Traceback (most recent call last):
    ValueError: --units must be at least 1; got 0.
    """
    for name, option in (item for table in tables for item in table.items()):
        value, flag = getattr(options, name), as_flag(name)
        if option.required is True and not value:
            resumes = getattr(options, "resume", False)
            hint = f" There is no run in {options.run} to resume." if resumes else ""
            raise ValueError(f"{flag} is missing: {as_clause(option.about)}.{hint}")
        check_numbers(flag, value, option)
        if option.must_be and value is not None and not option.must_be[0](value):
            raise ValueError(f"{flag} must be {option.must_be[1]}; got {value!r}.")
    check_rules(options, *tables)


def parse_options(
    parser,
    argv: list[str] | None = None,
    recipes: pathlib.Path | None = None,
    either: tuple[str, ...] = (),
):
    """Parses the options of a program: flags override `--config`, which overrides the defaults.

    With `--resume`, the options of the run in the folder `--run` replace the defaults, except
    `--minutes` and `--overwrite`, which apply to a single call of the program.

    Args:
        parser: `argparse.ArgumentParser` of the program, to which the flag `--config` is added.
            Flags cannot be abbreviated.
        argv: list of str. Arguments after the name of the program. If `None`, the arguments of the
            process are used.
        recipes: path of a folder of JSON files that `--config` accepts by name. If `None`, there
            are no recipes.
        either: tuple of names of options that exclude each other. If one of them is given, the
            values of all of them in the resumed run are ignored. Defaults to `()`.

    Returns:
        Namespace of options, without `config`.

    Raises:
        ValueError: If the `--config` file cannot be read, is not a JSON object, contains a key that
            is not an option of the program, or contains a value that the flag would reject; if the
            options of the run to resume are not valid; if a number is not finite, is out of the
            bounds of its `Option` or is an integer that does not fit in 32 bits; or if a value is
            an empty string.
        SystemExit: If a flag is unknown (see `checked_parser`) or `argparse` rejects the arguments,
            after printing the error; or after printing the help.

    Example:
    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("--steps", type=int, default=10)
    >>> parse_options(parser, ["--steps", "3"])
    Namespace(steps=3)
    """
    parser.allow_abbrev, argv = False, sys.argv[1:] if argv is None else argv
    known = {path.stem: path for path in sorted(recipes.glob("*.json"))} if recipes else {}
    about = f"JSON file with options{_recipe_names(known)}. Flags override it."
    first = short_errors(type(parser)(prog=parser.prog, add_help=False, allow_abbrev=False))
    flags = {a.dest: a for a in parser._actions if a.option_strings and a.dest != "help"}
    for each in (first, getattr(parser, "general", parser)):
        each.add_argument("--config", metavar="FILE.json", help=about)
    if {"run", "resume"} <= set(flags):
        first.add_argument("--run")
        first.add_argument("--resume", action="store_true")
    now, given = vars(first.parse_known_args(argv)[0]), {}
    if now["config"] is not None:
        given = read_config(str(known.get(now["config"], now["config"])), flags)
    run, resume = (now.get(name) or given.get(name) for name in ("run", "resume"))
    if resume and run:
        earlier = earlier_options(pathlib.Path(run, "options.json"), flags)
        if any(name in given or as_flag(name) in _flags_of(argv) for name in either):
            earlier = {name: value for name, value in earlier.items() if name not in either}
        given = {**earlier, **given}
    for dest in given:
        flags[dest].required = False
    parser.set_defaults(**given)
    checked_parser(parser, argv)
    # Before Python 3.13, `parse_intermixed_args` loses the arguments after `--`.
    options = parser.parse_args(argv) if "--" in argv else parser.parse_intermixed_args(argv)
    for flag in parser._actions:
        value = getattr(options, flag.dest, None)
        if value == "" or isinstance(value, list) and "" in value:
            name = flag.option_strings[-1] if flag.option_strings else flag.metavar or flag.dest
            raise ValueError(f"{name} is empty; expected a value, such as the name of a file.")
    for dest, flag in flags.items():
        if flag.type in (int, float):
            option = getattr(flag, "option", Option(flag.type, None, ""))
            check_numbers(flag.option_strings[-1], getattr(options, dest), option)
    del options.config
    return options


def checked_parser(parser, argv: list[str]):
    """Checks that a parser knows all flags in a command, and returns it with `short_errors`.

    Args:
        parser: `argparse.ArgumentParser`.
        argv: list of str. Arguments after the name of the program; those after `--` are ignored.

    Raises:
        SystemExit: If a flag is unknown, after printing an error that suggests a similar flag.
    """
    short_errors(parser)
    known = parser._option_string_actions
    names = [flag[2:] for flag in known if flag.startswith("--")]
    for flag in _flags_of(argv):
        if flag not in known and " " not in flag:
            close = difflib.get_close_matches(flag[2:], names, n=1)
            hint = f"; did you mean --{close[0]}?" if close else "."
            parser.error(f"there is no option {flag}{hint}")
    return parser


def short_errors(parser):
    """Makes a parser report errors on one line, without the usage, and returns the parser."""

    def error(message):
        line = " ".join(message.split())
        line = line if len(line) <= 800 else f"{line[:600]} ... {line[-195:]}"
        end = "" if line.endswith((".", "?")) else "."
        parser.exit(2, f"{parser.prog}: error: {line}{end} See {parser.prog} --help.\n")

    parser.error = error
    return parser


def first_line(doc: str | None) -> str:
    """Returns the first line of a docstring; "" under `python -OO`, which removes docstrings.

    Example:
    >>> first_line("Counts.\\n\\nMuch more.")
    'Counts.'
    """
    return (doc or "").partition("\n")[0]


def _recipe_names(recipes: dict) -> str:
    return f", or the name of a recipe ({', '.join(recipes)})" if recipes else ""


def _flags_of(argv: list[str]) -> dict[str, None]:
    """Returns the flags among the arguments of a command, in their order, up to `--`."""
    words = itertools.takewhile(lambda word: word != "--", argv)
    return {word.split("=")[0]: None for word in words if word.startswith("--")}


def earlier_options(path: pathlib.Path, flags: dict) -> dict:
    """Returns the options in options.json that a resumed run inherits; `{}` if there are none."""
    options = read_json(path).get("options") if path.is_file() else None
    if not isinstance(options, dict):
        return {}  # no run, or a damaged one, which raises an error when it is opened
    names = [name for name in options if name in flags and name not in OF_A_COMMAND]
    return {name: checked(str(path), name, options[name], flags[name]) for name in names}


def read_config(path: str, flags: dict) -> dict:
    """Returns the options in a file, checked against the flags (name -> argparse action)."""
    given = read_json(pathlib.Path(path))
    for key in given:
        if key not in flags:
            close = difflib.get_close_matches(key, flags, n=1)
            hint = (
                f"did you mean {close[0]!r}?" if close else f"the options are {', '.join(flags)}."
            )
            raise ValueError(f"{path}: there is no option {key!r}; {hint}")
    return {key: checked(path, key, value, flags[key]) for key, value in given.items()}


def checked(path: str, key: str, value, flag):
    """Converts a value from a file as its flag would."""
    if value is None and flag.default is None:
        return None
    try:
        if flag.nargs == 0:  # a switch
            return exactly(value, bool)
        if flag.nargs is not None and flag.nargs != "?":
            return [converted(item, flag) for item in exactly(value, list)]
        return converted(value, flag)
    except Exception as error:  # of any type that the conversion of the flag raises
        raise ValueError(f"{path}: option {key!r}: {error}") from error


def converted(value, flag):
    """Converts one value to the type of its flag and checks it against the choices."""
    if flag.type in (None, int, str):
        result = exactly(value, flag.type or str)
    elif flag.type is float:
        result = float(value if type(value) is int else exactly(value, float))
    else:  # the type of the flag converts text
        result = flag.type(value if isinstance(value, str) else json.dumps(value))
    if flag.choices is not None and result not in flag.choices:
        raise ValueError(f"expected one of {', '.join(map(str, flag.choices))}; got {value!r}.")
    return result


def check_numbers(flag: str, value, option: Option) -> None:
    """Raises a ValueError for numbers that are not finite, out of bounds or too large for int32."""
    if option.kind not in (int, float) or value is None:
        return
    bounds = {
        "at least": (option.at_least, operator.ge),
        "above": (option.above, operator.gt),
        "below": (option.below, operator.lt),
        "at most": (option.at_most, operator.le),
    }
    bounds = {word: pair for word, pair in bounds.items() if pair[0] is not None}
    for number in value if isinstance(value, list | tuple) else [value]:
        if isinstance(number, str):  # of a flag that also takes words
            continue
        wanted = " and ".join(f"{word} {_short(bound)}" for word, (bound, _) in bounds.items())
        if isinstance(number, float) and not math.isfinite(number):
            wanted = f"a finite number, {wanted}" if wanted else "a finite number"
        elif isinstance(number, int) and abs(number) > LARGEST:
            least = wanted or f"at least -{LARGEST}"
            wanted = least if option.at_most else f"{least} and at most {LARGEST}"
        elif all(holds(number, bound) for bound, holds in bounds.values()):
            continue
        raise ValueError(f"{flag} must be {wanted}; got {_short(number)}.")


def _short(number: float) -> str:
    """Formats a number. For an integer of more than 40 digits, returns only its size in bits."""
    if isinstance(number, float):
        return f"{number:g}"
    return str(number) if abs(number) < 10**40 else f"an integer of {number.bit_length():,} bits"


def exactly(value, kind: type):
    """Returns the value, or raises a ValueError if its type is not `kind`; a bool is not an int."""
    if type(value) is not kind:
        raise ValueError(
            f"expected {JSON_TYPES[kind]}; got {json.dumps(value, ensure_ascii=False)}."
        )
    return value
