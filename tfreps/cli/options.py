"""Options of a program: flags beat a JSON file, which beats defaults; JSON in and out."""

import argparse
import difflib
import json
import math
import operator
import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from tfreps.cli.option_rules import as_flag, check_rules
from tfreps.files.json_files import read_json

LARGEST = 2**31 - 1  # of whole numbers: what the int32 of a tensor holds


OF_A_COMMAND = "run", "resume", "overwrite", "minutes"  # not taken from a run that goes on


class Option(NamedTuple):
    """What programs share of an option: its type, default and sentence, in a table by name.

    `kind` bool makes a switch, `--no-x` of one that is on by default; `many` makes a list.
    `check_options` looks for what is `required`, and whether numbers are finite, within `at_least`,
    `above`, `below` and `at_most`, and, if whole, fit into 32 bits. `must_be` is a
    function that says whether another value is right, and words for what it must be. `needs` and
    `excludes` say beside which other options it has an effect, and `required` may be such a rule,
    too: see `tfreps.cli.option_rules.check_rules`.
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


def add_flags(group, options: dict[str, Option]) -> None:
    """Gives a parser, or a group of one, the flag `--a-name` for each option `a_name`.

    Args:
        group: `argparse.ArgumentParser`, or what its `add_argument_group` returns.
        options: name -> Option.

    Example:
    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> add_flags(parser, {"num_steps": Option(int, 9, "exchange steps (9)")})
    >>> parser.parse_args(["--num-steps", "3"])
    Namespace(num_steps=3)
    """
    for name, option in options.items():
        flag = as_flag(name)
        if option.kind is bool:
            action = argparse.BooleanOptionalAction if option.default else "store_true"
            group.add_argument(flag, action=action, default=option.default, help=option.about)
            continue
        more = {"nargs": "+"} if option.many else {}
        if option.choices:
            more["choices"] = option.choices
        else:
            more["metavar"] = {int: "N", float: "X"}.get(option.kind)
        given = group.add_argument(
            flag, type=option.kind, default=option.default, help=option.about, **more
        )
        given.option = option  # for `parse_options`


def default_values(*tables: dict[str, Option]) -> dict:
    """What options stand at that nobody gave.

    Args:
        *tables: name -> Option.

    Example:
    >>> default_values({"units": Option(int, 9, "width")}, {"fast": Option(bool, False, "hurry")})
    {'units': 9, 'fast': False}
    """
    return {name: option.default for table in tables for name, option in table.items()}


def check_options(options, *tables: dict[str, Option]) -> None:
    """Looks whether options are there, within their bounds, and have an effect.

    Args:
        options: the namespace that `parse_options` returned.
        *tables: name -> Option.

    Raises:
        ValueError: for the first that is not; names the flag.
            What `tfreps.cli.option_rules.check_rules` raises.

    Example:
    >>> import argparse
    >>> check_options(argparse.Namespace(units=0), {"units": Option(int, 9, "width", at_least=1)})
    Traceback (most recent call last):
    ValueError: --units must be at least 1; got 0.
    """
    for name, option in (item for table in tables for item in table.items()):
        value, flag = getattr(options, name), as_flag(name)
        if option.required is True and not value:
            resumes = getattr(options, "resume", False)
            hint = f" There is no run in {options.run} to go on with." if resumes else ""
            raise ValueError(f"{flag} is missing: {option.about}.{hint}")
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
    """The options of a program: flags beat `--config FILE.json`, which beats defaults.

    With `--resume` what neither of both gives is as in the run that is to go on, the one in the
    folder `--run`; but for `--minutes`, which is about one sitting.

    Args:
        parser: the program's `argparse.ArgumentParser`; gains the flag `--config`. Flags have
            to be written in full.
        argv: what follows the program's name; None for that of the process.
        recipes: folder of JSON files that `--config` knows by name; None for none.
        either: names of options of which one goes alone: with one given, the run's are forgotten.

    Returns:
        The namespace of options, without `config`.

    Raises:
        ValueError: the file is not a JSON object, has a key that is no option of the program, or
            a value that its flag would not take; a number is out of the bounds of its `Option`; a
            text is empty.

    Example:
    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("--steps", type=int, default=10)
    >>> parse_options(parser, ["--steps", "3"])
    Namespace(steps=3)
    """
    parser.allow_abbrev, argv = False, sys.argv[1:] if argv is None else argv
    known = {path.stem: path for path in sorted(recipes.glob("*.json"))} if recipes else {}
    about = f"options from a JSON object{_recipe_names(known)}; flags beat it"
    first = short_errors(type(parser)(prog=parser.prog, add_help=False, allow_abbrev=False))
    flags = {a.dest: a for a in parser._actions if a.option_strings and a.dest != "help"}
    for each in (first, parser):
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
    short_errors(parser)
    # Before Python 3.13, `parse_intermixed_args` loses the arguments after `--`.
    options = parser.parse_args(argv) if "--" in argv else parser.parse_intermixed_args(argv)
    for flag in parser._actions:
        value = getattr(options, flag.dest, None)
        if value == "" or isinstance(value, list) and "" in value:
            name = flag.option_strings[-1] if flag.option_strings else flag.metavar or flag.dest
            raise ValueError(f"{name} is empty: expected a value, such as the name of a file.")
    for dest, flag in flags.items():
        if flag.type in (int, float):
            option = getattr(flag, "option", Option(flag.type, None, ""))
            check_numbers(flag.option_strings[-1], getattr(options, dest), option)
    del options.config
    return options


def short_errors(parser):
    """The parser itself, which says in one line what is wrong with flags, without its usage."""

    def error(message):
        line = " ".join(message.split())
        line = line if len(line) <= 800 else f"{line[:600]} ... {line[-195:]}"
        end = "" if line.endswith(".") else "."
        parser.exit(2, f"{parser.prog}: error: {line}{end} See {parser.prog} --help.\n")

    parser.error = error
    return parser


def first_line(doc: str | None) -> str:
    """The first line of a docstring; nothing where Python leaves them out (`python -OO`).

    Example:
    >>> first_line("Counts.\\n\\nMuch more.")
    'Counts.'
    """
    return (doc or "").partition("\n")[0]


def _recipe_names(recipes: dict) -> str:
    return f", or a recipe: {', '.join(recipes)}" if recipes else ""


def _flags_of(argv: list[str]) -> set[str]:
    """The flags among the words of a command."""
    return {word.split("=")[0] for word in argv if word.startswith("--")}


def earlier_options(path: pathlib.Path, flags: dict) -> dict:
    """The options of the run that options.json is of, as far as the program has them as flags."""
    options = read_json(path).get("options") if path.is_file() else None
    if not isinstance(options, dict):
        return {}  # no run, or a damaged one: whoever opens it says so
    names = [name for name in options if name in flags and name not in OF_A_COMMAND]
    return {name: checked(str(path), name, options[name], flags[name]) for name in names}


def read_config(path: str, flags: dict) -> dict:
    """The options in a file, checked against the flags (name -> argparse action)."""
    given = read_json(pathlib.Path(path))
    for key in given:
        if key not in flags:
            close = difflib.get_close_matches(key, flags, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(flags)}."
            raise ValueError(f"{path}: there is no option {key!r}; {hint}")
    return {key: checked(path, key, value, flags[key]) for key, value in given.items()}


def checked(path: str, key: str, value, flag):
    """A value from a file as its flag would have delivered it."""
    if value is None and flag.default is None:
        return None
    try:
        if flag.nargs == 0:  # a switch
            return exactly(value, bool)
        if flag.nargs is not None and flag.nargs != "?":
            return [converted(item, flag) for item in exactly(value, list)]
        return converted(value, flag)
    except Exception as error:  # whatever the flag's own conversion raises
        raise ValueError(f"{path}: option {key!r}: {error}") from error


def converted(value, flag):
    """One value, converted by its flag's type and checked against its choices."""
    if flag.type in (None, int, str):
        result = exactly(value, flag.type or str)
    elif flag.type is float:
        result = float(value if type(value) is int else exactly(value, float))
    else:  # the flag's own type reads text
        result = flag.type(value if isinstance(value, str) else json.dumps(value))
    if flag.choices is not None and result not in flag.choices:
        raise ValueError(f"expected one of {', '.join(map(str, flag.choices))}; got {value!r}")
    return result


def check_numbers(flag: str, value, option: Option) -> None:
    """Raises a ValueError for numbers that are not finite, or out of the option's bounds."""
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
        if isinstance(number, str):  # of a flag that takes words, too
            continue
        wanted = " and ".join(f"{word} {_short(bound)}" for word, (bound, _) in bounds.items())
        if isinstance(number, float) and not math.isfinite(number):
            wanted = f"a finite number {wanted}".strip()
        elif isinstance(number, int) and abs(number) > LARGEST:
            least = wanted or f"at least -{LARGEST}"
            wanted = least if option.at_most else f"{least} and at most {LARGEST}"
        elif all(holds(number, bound) for bound, holds in bounds.values()):
            continue
        raise ValueError(f"{flag} must be {wanted}; got {_short(number)}.")


def _short(number: float) -> str:
    """A number as it is written, whole ones with all digits unless there are many."""
    if isinstance(number, float):
        return f"{number:g}"
    return str(number) if abs(number) < 10**40 else f"one of {number.bit_length():,} bits"


def exactly(value, kind: type):
    """The value, if it is of that type and no other (a bool is no int)."""
    if type(value) is not kind:
        raise ValueError(f"expected {kind.__name__}, got {type(value).__name__} {value!r}")
    return value
