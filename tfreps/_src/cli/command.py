"""Command: the command line of a command, from one table of options."""

import argparse
import contextlib
import difflib
import functools
import itertools
import json
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tfreps._src.cli.command_help import (
    METAVARS,
    HelpFormatter,
    Parser,
    Show,
    default_text,
    value_name,
    value_words,
)
from tfreps._src.cli.option_rules import Term, check_rules, unused_options
from tfreps._src.cli.options import (
    ADVANCED,
    COMMON,
    KEY,
    Option,
    as_clause,
    as_flag,
    as_typed,
    check_value,
    from_json,
    from_text,
    listed,
)
from tfreps._src.cli.start_tensorflow import start_tensorflow
from tfreps._src.files.json_files import read_json

# Options that a resumed run does not inherit.
OF_A_COMMAND = "run", "resume", "overwrite", "time_limit_minutes"
NO_RECIPE = "none"  # value of --config with which the default recipe is not used


class Group(NamedTuple):
    """Group of options in the help: a title, a description, and a dict of name -> `Option`."""

    title: str
    about: str
    options: dict[str, Option]


class DefaultRecipe(NamedTuple):
    """Recipe that a command uses if neither --config is given nor a run is resumed."""

    name: str
    applies: Callable[[argparse.Namespace], bool]  # whether the given options are those of `about`
    about: str  # what the recipe is for, as in "Defaults to bilstm for ..."


class Command:
    """Command line of a command: its options, help and errors.

    Flags override `--set KEY=VALUE`, which overrides `--config FILE`, which overrides the defaults.
    If the command has the options `run` and `resume`, the options of the run to resume replace the
    defaults, except options that apply to one command only (`OF_A_COMMAND`). `--help` shows the
    common options, and `--help-all` also the advanced ones and the keys (`level` of `Option`).

    Args:
        name: str. Name after `tfreps`, such as `"tag"`.
        about: str. The first line is shown at the start of the help; `python -OO` passes `None`.
        arguments: dict of name -> `Option`. Positional arguments.
        groups: iterable of `Group`. The options.
        examples: tuple of str. Commands shown at the start of the help.
        usage: str. Usage line. If `None`, it has the arguments and the required options.
        recipes: path of a folder of JSON files that `--config` accepts by name, or `None`.
        default_recipe: `DefaultRecipe`, or `None`. Values of this recipe that the given options
            exclude are left out, and `--config none` turns the recipe off.
        either: tuple of names of options that exclude each other. If one of them is given, the
            values of all of them in the resumed run are ignored.
        flags: dict that maps further argument names of the library to flags. Error messages of the
            library name its arguments in backticks; the command replaces them with the flags.
        tensorflow: bool, or function from the options to bool. Whether the command needs
            TensorFlow.

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
        recipes: pathlib.Path | None = None, default_recipe: DefaultRecipe | None = None,
        either: tuple[str, ...] = (),
        flags: dict[str, str] | None = None,
        tensorflow: bool | Callable[[argparse.Namespace], bool] = True,
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
        self.default_recipe = default_recipe
        self.either = either
        self.tensorflow = tensorflow
        self.options = {n: option for group in self.groups for n, option in group.options.items()}
        self.resumes = {"run", "resume"} <= set(self.options)
        self.keys = [name for name, option in self.options.items() if option.level == KEY]
        self.flags = {name: as_typed(name, self.options) for name in self.options} | (flags or {})

    def run(self, work: Callable, argv: list[str] | None = None) -> int:
        """Parses the options, starts TensorFlow if needed, and returns the code of `work`."""
        with self.started(argv) as options:
            return work(options) or 0

    @contextlib.contextmanager
    def started(self, argv: list[str] | None = None) -> Iterator[argparse.Namespace]:
        """Context manager that parses the options, starts TensorFlow if needed, and yields them.

        Messages of a ValueError or OSError name flags in place of the arguments of the library.
        """
        options = self.parse(argv)
        needed = self.tensorflow
        if needed(options) if callable(needed) else needed:
            start_tensorflow()
        try:
            yield options
        except ValueError as error:
            # Subclasses such as UnicodeDecodeError take other arguments.
            if type(error) is not ValueError:
                raise
            raise ValueError(self.with_flags(str(error))) from error
        except OSError as error:
            if error.strerror:
                error.strerror = self.with_flags(error.strerror)
            raise

    def with_flags(self, text: str) -> str:
        """Replaces the names of options in backticks, such as `fast` or `fast=True`, with flags."""

        def flag(match):
            name = match[1].removesuffix("=True")
            return self.flags.get(match[1]) or self.flags.get(name) or match[0]

        return re.sub(r"`([\w=]+)`", flag, text)

    def parse(self, argv: list[str] | None = None) -> argparse.Namespace:
        """Parses and checks the arguments `argv`, by default the arguments of this process.

        Returns a Namespace with the value of each option. After the help is printed, or after an
        error of `argparse`, SystemExit is raised.
        """
        argv = sys.argv[1:] if argv is None else list(argv)
        given, takes_default = self._given(argv)
        options = self._parsed(argv, given)
        default = self.default_recipe
        if default is None or not takes_default or not default.applies(options):
            self.check(options)
            return options
        recipe = self._read_config(default.name)
        unused = unused_options(self._parsed(argv, {**recipe, **given}), self.options)
        recipe = {key: value for key, value in recipe.items() if key not in unused}
        options = self._parsed(argv, {**recipe, **given})
        self.check(options)
        print(f"Using the recipe {default.name}. To train without it, add --config {NO_RECIPE}.")
        return options

    def about_default_recipe(self) -> str:
        """Returns two sentences of the help about the default recipe and its values.

        The text is empty if the command has no such recipe.
        """
        if self.default_recipe is None:
            return ""
        name, _, about = self.default_recipe
        recipe = read_json(self.recipes[name])
        values = [f"{key}={json.dumps(value)}" for key, value in recipe.items()]
        return (
            f" Defaults to {name} for {about}, which sets {listed(values)}. With {NO_RECIPE}, no "
            "recipe is used."
        )

    def _parsed(self, argv, given):
        """Parses `argv`. The values of the dict `given` replace the defaults of the options."""
        parser = self.parser(given)
        self._check_flags(parser, argv)
        # Before Python 3.13, `parse_intermixed_args` may read arguments after `--` as options.
        options = parser.parse_args(argv) if "--" in argv else parser.parse_intermixed_args(argv)
        for name in "config", "set":
            vars(options).pop(name, None)
        return options

    def check(self, options) -> None:
        """Raises ValueError for a missing option, an invalid value, or a rule that is broken."""
        for name, option in self.arguments.items():
            check_value(option.metavar or name, getattr(options, name), option)
        for name, option in self.options.items():
            value = getattr(options, name)
            if option.required is True and value in (None, []):
                is_new = self.resumes and options.resume and name != "run"
                hint = f" There is no run in {options.run} to resume." if is_new else ""
                raise ValueError(f"{as_flag(name)} is missing: {as_clause(option.about)}.{hint}")
            check_value(as_typed(name, self.options), value, option)
        check_rules(options, self.options)

    def parser(
        self, given: dict | None = None, levels: tuple[str, ...] = (COMMON, ADVANCED)
    ) -> argparse.ArgumentParser:
        """Returns a parser of the options whose level is in `levels`.

        The values of the dict `given` replace the defaults of the options. If `levels` contains
        KEY, the parser can only show help, because keys have no flags.
        """
        parser = Parser(
            prog=f"tfreps {self.name}",
            usage=self.usage or self._usage(),
            description="\n\n".join([self.about, *self._example_lines()]),
            epilog=self._note(levels),
            formatter_class=HelpFormatter,
            add_help=False,
            allow_abbrev=False,
        )
        into = parser.add_argument_group("arguments")
        for name, option in self.arguments.items():
            nargs = (
                ("+" if option.many else None) if option.required else "*" if option.many else "?"
            )
            into.add_argument(
                name, nargs=nargs, metavar=option.metavar, default=option.default,
                choices=option.choices, help=self.help(option),
            )  # fmt: skip
        for group in self.groups:
            shown = {name: row for name, row in group.options.items() if row.level in levels}
            if shown:
                into = parser.add_argument_group(group.title, group.about)
                for name, option in shown.items():
                    self._add(into, name, option, given or {})
        self._add_general(parser)
        defaults = {name: self.options[name].default for name in self.keys}
        parser.set_defaults(**defaults | (given or {}))
        return parser

    def help_text(self, is_complete: bool = False) -> str:
        """Returns the text of the help.

        It contains the common options or, if `is_complete` is `True`, all options and keys.
        """
        levels = (COMMON, ADVANCED, KEY) if is_complete else (COMMON,)
        return self.parser(levels=levels).format_help()

    def _usage(self):
        words = [value_words(name, option) for name, option in self.arguments.items()]
        words += [
            f"{as_flag(name)} {value_words(name, option._replace(required=True))}"
            for name, option in self.options.items()
            if self._is_required(name)
        ]
        return " ".join([f"tfreps {self.name}", *words, "[options]"])

    def _is_required(self, name):
        """Returns True if the flag of an option must always be given.

        A required option other than `run` may be omitted if the command can resume a run, because
        the run contains its value.
        """
        return self.options[name].required is True and (not self.resumes or name == "run")

    def _example_lines(self):
        lines = [f"  {line}" for command in self.examples for line in command.splitlines()]
        return ["\n".join(["examples:", *lines])] if lines else []

    def _note(self, levels):
        """Returns the last line of the help, or `None` if the help needs no such line.

        `levels` are the levels of the options in the help. If these are only common options, the
        line names `--help-all`. If the help includes keys, the line says how to set a key.
        """
        more = sum(option.level == ADVANCED for option in self.options.values())
        counts = {"more option": more, "key": len(self.keys)}
        shown = [f"{n} {what}{'s' * (n > 1)}" for what, n in counts.items() if n]
        if levels == (COMMON,) and shown:
            source = " of --config" * bool(self.keys)
            return f"{' and '.join(shown)}{source}: tfreps {self.name} --help-all"
        if KEY in levels and self.keys:
            return (
                "Names without dashes are keys of --config, which --set also accepts, as in "
                f"{self._with_value(as_typed(self.keys[0], self.options))}."
            )
        return None

    def _add_general(self, parser):
        group = parser.add_argument_group("general", "Options that every command has.")
        group.add_argument(
            "-h", "--help", action=Show, text=self.help_text, help="Show this help and exit."
        )
        text = functools.partial(self.help_text, True)
        group.add_argument("--help-all", action=Show, text=text, help="Show all options and exit.")
        names = f", or the name of a recipe ({', '.join(self.recipes)})" if self.recipes else ""
        about = f"JSON file with options{names}. Flags override it.{self.about_default_recipe()}"
        group.add_argument("--config", metavar="FILE", help=about)
        if self.keys:
            about = (
                "Options by their names in --config, also those without a flag. They override "
                "--config."
            )
            group.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", help=about)

    def _add(self, group, name, option, given):
        """Adds the flag of an option to a group of a parser.

        For a key, which has no flag, only the help is added. `given` is a dict of options that have
        a value already, so that the parser does not require their flags.
        """
        flag, help = as_flag(name), self.help(option)
        if option.level == KEY:
            group.add_argument(name, metavar=f"{name}={value_name(name, option)}", help=help)
            return
        if option.kind is bool:
            action = argparse.BooleanOptionalAction if option.default else "store_true"
            switch = group.add_argument(flag, action=action, default=option.default)
            switch.help = help  # set here, because some versions of Python would add the default
            return
        more = {"nargs": "+"} if option.many else {"action": "append"} if option.repeated else {}
        if option.choices:
            more["choices"] = option.choices
        else:
            more["metavar"] = option.metavar or METAVARS.get(option.kind)
        if self._is_required(name):
            more["required"] = name not in given
        group.add_argument(flag, type=option.kind, default=option.default, help=help, **more)

    def help(self, option):
        """Returns the help of an option, with its default after the first sentence."""
        about, default = option.about, default_text(option.default)
        if isinstance(option.required, str):
            about += f" Required with {Term.read(option.required).words(self.options)}."
        elif option.required and self.resumes and option is not self.options["run"]:
            about += " Required for a new run."
        if default:
            first, end, rest = re.fullmatch(r"(.*?)(\.?)((?<=\.) .*)?", about, re.DOTALL).groups()
            about = f"{first} (default: {default}){end}{rest or ''}"
        return about.replace("%", "%%")

    def typed_flags(self) -> dict[str, str]:
        """Returns a dict that maps the flag of each option to what a user must type instead.

        For most options, this is the flag itself. For a key, which has no flag of its own, it is
        `--set NAME`.
        """
        names = [
            *self.options,
            *(f"no_{n}" for n, row in self.options.items() if row.default is True),
        ]
        general = ["--help", "--help-all", "--config", *["--set"] * bool(self.keys)]
        typed = {as_flag(name): as_typed(name, self.options) for name in names}
        return typed | {flag: flag for flag in general}

    def _check_flags(self, parser, argv):
        """Ends the command with an error if `argv` contains a flag that the command does not have.

        The error suggests a similar option if there is one.
        """
        typed = self.typed_flags()
        for flag in _flags_of(argv):
            if typed.get(flag) != flag and " " not in flag:
                close = difflib.get_close_matches(flag[2:], [each[2:] for each in typed], n=1)
                hint = (
                    f"; did you mean {self._with_value(typed[f'--{close[0]}'])}?" if close else "."
                )
                parser.error(f"there is no option {flag}{hint}")

    def _with_value(self, typed):
        """Completes `--set NAME` to `--set NAME=VALUE`, for a message.

        VALUE is the placeholder of the value in the help, such as `N`. Any other text in `typed` is
        returned unchanged.
        """
        name = typed.removeprefix("--set ")
        if name == typed or "=" in name:
            return typed
        return f"{typed}={value_name(name, self.options[name])}"

    def _given(self, argv):
        """Returns a dict of the options that are given without flags.

        These are the options in the file --config, in --set, and in the run to resume. --set
        overrides --config, which overrides the run. A second value says whether the default recipe
        may be used.
        """
        first = Parser(prog=f"tfreps {self.name}", add_help=False, allow_abbrev=False)
        first.add_argument("--config")
        if self.keys:
            first.add_argument("--set", nargs="+", action="extend")
        if self.resumes:
            first.add_argument("--run")
            first.add_argument("--resume", action="store_true")
        now, given = vars(first.parse_known_args(argv)[0]), {}
        takes_default = now["config"] is None
        is_off = self.default_recipe is not None and now["config"] == NO_RECIPE
        if now["config"] is not None and not is_off:
            given = self._read_config(now["config"])
        for setting in now.get("set") or []:
            key, equals, value = setting.partition("=")
            if not equals:
                raise ValueError(f"--set must be followed by KEY=VALUE; got {key}.")
            self._check_key("--set", key)
            given[key] = self._read(f"--set {key}", key, value, from_text)
        run, resume = (now.get(name) or given.get(name) for name in ("run", "resume"))
        if self.resumes and resume and run:
            earlier = self._earlier(pathlib.Path(run, "options.json"))
            if any(name in given or as_flag(name) in _flags_of(argv) for name in self.either):
                earlier = {n: value for n, value in earlier.items() if n not in self.either}
            given = {**earlier, **given}
            takes_default = takes_default and not earlier
        return given, takes_default

    def _earlier(self, path):
        """Reads the options of the run to resume from `path`, the options.json of the run.

        Returns a dict of the options that also apply to the resumed run. It is empty if the file
        does not exist or contains no options.
        """
        options = read_json(path).get("options") if path.is_file() else None
        if not isinstance(options, dict):
            # The folder contains no run, or a damaged one. Opening a damaged run raises an error.
            return {}
        names = [name for name in options if name in self.options and name not in OF_A_COMMAND]
        return {n: self._read(f"{path}: option {n!r}", n, options[n]) for n in names}

    def _read_config(self, name):
        path = pathlib.Path(self.recipes.get(name, name))
        if self.recipes and not path.exists():
            raise ValueError(
                f"--config must be a JSON file or a recipe ({listed(list(self.recipes), 'or')}); "
                f"{name} does not exist."
            )
        given = read_json(path)
        for key in given:
            self._check_key(path, key)
        return {k: self._read(f"{path}: option {k!r}", k, value) for k, value in given.items()}

    def _check_key(self, source, key):
        if key not in self.options:
            close = difflib.get_close_matches(key.replace("-", "_"), self.options, n=1)
            hint = f"did you mean {close[0]!r}?" if close else (
                f"the options are {', '.join(self.options)}."
            )  # fmt: skip
            raise ValueError(f"{source}: there is no option {key!r}; {hint}")

    def _read(self, what, key, value, convert=from_json):
        try:
            return convert(value, self.options[key])
        except Exception as error:  # the conversion of a value may raise any type
            raise ValueError(f"{what}: {error}") from error


def _flags_of(argv):
    """Returns a list of the flags in `argv`, without their values, up to the argument `--`."""
    words = itertools.takewhile(lambda word: word != "--", argv)
    return [word.split("=")[0] for word in words if word.startswith("--")]
