"""Command: the command line of a command, from one table of options."""

import argparse
import difflib
import itertools
import pathlib
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import NamedTuple

from tfreps._src.cli.option_rules import Term, check_rules
from tfreps._src.cli.options import Option, as_clause, as_flag, check_value, from_json
from tfreps._src.cli.start_tensorflow import start_tensorflow
from tfreps._src.files.json_files import read_json

OF_A_COMMAND = "run", "resume", "overwrite", "time_limit_minutes"  # not inherited by a resumed run
METAVARS = {int: "N", float: "X"}


class Group(NamedTuple):
    """Group of options in the help: a title, a description, and a dict of name -> `Option`."""

    title: str
    about: str
    options: dict[str, Option]


class Command:
    """Command line of a command: its options, help and errors.

    Flags override `--config FILE`, which overrides the defaults. If the command has the
    options `run` and `resume`, the options of the run to resume replace the defaults, except
    those that apply to a single command (`OF_A_COMMAND`).

    Args:
        name: str. Name after `tfreps`, such as `"tag"`.
        about: str. The first line is shown at the start of the help; `python -OO` passes `None`.
        arguments: dict of name -> `Option`. Positional arguments.
        groups: iterable of `Group`. The options.
        examples: tuple of str. Commands shown at the end of the help.
        usage: str. Usage line. If `None`, argparse generates it.
        recipes: path of a folder of JSON files that `--config` accepts by name, or `None`.
        either: tuple of names of options that exclude each other. If one of them is given, the
            values of all of them in the resumed run are ignored.
        flags: dict that maps further argument names of the library to flags. Error messages of the
            library name its arguments in backticks; the command replaces them with the flags.
        tensorflow: bool. Whether the command needs TensorFlow.

    Example:
    >>> step = {"by": Option(int, 2, "Step. Must be positive.", at_least=1)}
    >>> command = Command("count", "Counts.", {}, [Group("numbers", "What to count.", step)])
    >>> command.parse(["--by", "3"])
    Namespace(by=3)
    >>> command.parse(["--by", "0"])
    Traceback (most recent call last):
    ValueError: --by must be at least 1; got 0.
    """

    def __init__(
        self, name: str, about: str | None, arguments: dict[str, Option], groups: Iterable[Group],
        examples: tuple[str, ...] = (), *, usage: str | None = None,
        recipes: pathlib.Path | None = None, either: tuple[str, ...] = (),
        flags: dict[str, str] | None = None, tensorflow: bool = True,
    ):  # fmt: skip
        self.name = name
        self.about = (about or "").partition("\n")[0]
        self.arguments = arguments
        self.groups = list(groups)
        self.examples = examples
        self.usage = usage
        self.recipes = (
            {path.stem: path for path in sorted(recipes.glob("*.json"))} if recipes else {}
        )
        self.either = either
        self.tensorflow = tensorflow
        self.options = {n: option for group in self.groups for n, option in group.options.items()}
        self.resumes = {"run", "resume"} <= set(self.options)
        self.flags = {name: as_flag(name) for name in self.options} | (flags or {})

    def run(self, work: Callable, argv: list[str] | None = None) -> int:
        """Parses the options, starts TensorFlow and returns the exit code of `work(options)`.

        Messages of a ValueError name flags in place of the arguments of the library.
        """
        options = self.parse(argv)
        if self.tensorflow:
            start_tensorflow()
        try:
            return work(options) or 0
        except ValueError as error:
            if type(error) is not ValueError:  # such as an error of an encoding
                raise
            raise ValueError(self.with_flags(str(error))) from error

    def with_flags(self, text: str) -> str:
        """Replaces the names of options in backticks, such as `fast` or `fast=True`, with flags."""

        def flag(match):
            name = match[1].removesuffix("=True")
            return self.flags.get(match[1]) or self.flags.get(name) or match[0]

        return re.sub(r"`([\w=]+)`", flag, text)

    def parse(self, argv: list[str] | None = None) -> argparse.Namespace:
        """Returns the options of a command, checked; without `argv`, those of this process.

        After the help, or an error of `argparse`, SystemExit is raised.
        """
        argv = sys.argv[1:] if argv is None else list(argv)
        given = self._given(argv)
        parser = self.parser(given)
        self._check_flags(parser, argv)
        # Before Python 3.13, `parse_intermixed_args` loses the arguments after `--`.
        options = parser.parse_args(argv) if "--" in argv else parser.parse_intermixed_args(argv)
        del options.config
        self.check(options)
        return options

    def check(self, options) -> None:
        """Checks that required options are given, values are valid, and each option is used."""
        for name, option in self.arguments.items():
            check_value(option.metavar or name, getattr(options, name), option)
        for name, option in self.options.items():
            value = getattr(options, name)
            if option.required is True and value in (None, []):
                is_new = self.resumes and options.resume and name != "run"
                hint = f" There is no run in {options.run} to resume." if is_new else ""
                raise ValueError(f"{as_flag(name)} is missing: {as_clause(option.about)}.{hint}")
            check_value(as_flag(name), value, option)
        check_rules(options, self.options)

    def parser(self, given: dict | None = None) -> argparse.ArgumentParser:
        """Returns the parser, in which the values of the dict `given` replace defaults."""
        given = given or {}
        lines = [f"  {line}" for command in self.examples for line in command.splitlines()]
        parser = _Parser(
            prog=f"tfreps {self.name}",
            usage=self.usage,
            description=self.about,
            epilog="\n".join(["examples:", *lines]) if lines else None,
            formatter_class=_HelpFormatter,
            add_help=False,
            allow_abbrev=False,
        )
        for name, option in self.arguments.items():
            nargs = (
                ("+" if option.many else None) if option.required else "*" if option.many else "?"
            )
            parser.add_argument(
                name, nargs=nargs, metavar=option.metavar, default=option.default,
                choices=option.choices, help=self.help(option),
            )  # fmt: skip
        general = parser.add_argument_group("general", "Options that every command has.")
        general.add_argument("-h", "--help", action="help", help="Show this help and exit.")
        names = f", or the name of a recipe ({', '.join(self.recipes)})" if self.recipes else ""
        about = f"JSON file with options{names}. Flags override it."
        general.add_argument("--config", metavar="FILE", help=about)
        for group in self.groups:
            into = parser.add_argument_group(group.title, group.about)
            for name, option in group.options.items():
                self._add(into, name, option, given)
        parser.set_defaults(**given)
        return parser

    def _add(self, group, name, option, given):
        """Adds the flag of an option to a group of a parser."""
        flag, help = as_flag(name), self.help(option)
        if option.kind is bool:
            action = argparse.BooleanOptionalAction if option.default else "store_true"
            switch = group.add_argument(flag, action=action, default=option.default)
            switch.help = help  # to which some versions of Python would add the default
            return
        more = {"nargs": "+"} if option.many else {"action": "append"} if option.repeated else {}
        if option.choices:
            more["choices"] = option.choices
        else:
            more["metavar"] = option.metavar or METAVARS.get(option.kind)
        # The run to resume may give any option except the run itself.
        if option.required is True and (not self.resumes or name == "run"):
            more["required"] = name not in given
        group.add_argument(flag, type=option.kind, default=option.default, help=help, **more)

    def help(self, option):
        """Returns the help of an option, with its default after the first sentence."""
        about, default = option.about, default_text(option.default)
        if isinstance(option.required, str):
            about += f" Required with {Term.read(option.required).words()}."
        elif option.required and self.resumes and option is not self.options["run"]:
            about += " Required for a new run."
        if default:
            first, end, rest = re.fullmatch(r"(.*?)(\.?)((?<=\.) .*)?", about, re.DOTALL).groups()
            about = f"{first} (default: {default}){end}{rest or ''}"
        return about.replace("%", "%%")

    def _check_flags(self, parser, argv):
        """Ends the command with an error that suggests a similar flag if a flag is unknown."""
        known = ["--help", "--config", *map(as_flag, self.options)]
        known += [
            as_flag(f"no_{n}") for n, option in self.options.items() if option.default is True
        ]
        for flag in _flags_of(argv):
            if flag not in known and " " not in flag:
                close = difflib.get_close_matches(flag[2:], [each[2:] for each in known], n=1)
                hint = f"; did you mean --{close[0]}?" if close else "."
                parser.error(f"there is no option {flag}{hint}")

    def _given(self, argv):
        """Returns the options from the --config file, and from the run to resume."""
        first = _Parser(prog=f"tfreps {self.name}", add_help=False, allow_abbrev=False)
        first.add_argument("--config")
        if self.resumes:
            first.add_argument("--run")
            first.add_argument("--resume", action="store_true")
        now, given = vars(first.parse_known_args(argv)[0]), {}
        if now["config"] is not None:
            given = self._read_config(str(self.recipes.get(now["config"], now["config"])))
        run, resume = (now.get(name) or given.get(name) for name in ("run", "resume"))
        if self.resumes and resume and run:
            earlier = self._earlier(pathlib.Path(run, "options.json"))
            if any(name in given or as_flag(name) in _flags_of(argv) for name in self.either):
                earlier = {n: value for n, value in earlier.items() if n not in self.either}
            given = {**earlier, **given}
        return given

    def _earlier(self, path):
        """Returns the options in options.json that a resumed run inherits; `{}` if none."""
        options = read_json(path).get("options") if path.is_file() else None
        if not isinstance(options, dict):
            return {}  # no run, or a damaged one, which raises an error when it is opened
        names = [name for name in options if name in self.options and name not in OF_A_COMMAND]
        return {name: self._read(path, name, options[name]) for name in names}

    def _read_config(self, path):
        given = read_json(pathlib.Path(path))
        for key in given:
            if key not in self.options:
                close, names = difflib.get_close_matches(key, self.options, n=1), self.options
                hint = f"did you mean {close[0]!r}?" if close else (
                    f"the options are {', '.join(names)}."
                )  # fmt: skip
                raise ValueError(f"{path}: there is no option {key!r}; {hint}")
        return {key: self._read(path, key, value) for key, value in given.items()}

    def _read(self, path, key, value):
        try:
            return from_json(value, self.options[key])
        except Exception as error:  # of any type that the conversion of the option raises
            raise ValueError(f"{path}: option {key!r}: {error}") from error


class _Parser(argparse.ArgumentParser):
    """Parser that reports an error on one line, without the usage."""

    def error(self, message):
        line = " ".join(message.split())
        line = line if len(line) <= 800 else f"{line[:600]} ... {line[-195:]}"
        end = "" if line.endswith((".", "?")) else "."
        self.exit(2, f"{self.prog}: error: {line}{end} See {self.prog} --help.\n")


class _HelpFormatter(argparse.HelpFormatter):
    """Formatter that keeps the lines of the examples, and breaks no flag at a hyphen."""

    def _split_lines(self, text, width):
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text, width, indent):
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


def default_text(value) -> str:
    """Returns a default as the help shows it, or "" if the help shows no default."""
    if value in (None, False, "") and type(value) not in (int, float):
        return ""
    if value is True:
        return "on"
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _flags_of(argv):
    """Returns the flags among the arguments of a command, up to `--`."""
    words = itertools.takewhile(lambda word: word != "--", argv)
    return [word.split("=")[0] for word in words if word.startswith("--")]
