"""Parser, formatter and words of the help of a command."""

import argparse
import textwrap

from tfreps._src.cli.options import Option

METAVARS = {int: "N", float: "X"}


class Parser(argparse.ArgumentParser):
    """Parser that reports an error on one line, without the usage."""

    def error(self, message):
        line = " ".join(message.split())
        line = line if len(line) <= 800 else f"{line[:600]} ... {line[-195:]}"
        end = "" if line.endswith((".", "?")) else "."
        self.exit(2, f"{self.prog}: error: {line}{end} See {self.prog} --help.\n")


class Show(argparse.Action):
    """Action of a flag that prints the result of the function `text` and ends the command."""

    def __init__(self, option_strings, dest, text, help):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)
        self.text = text

    def __call__(self, parser, namespace, values, option_string=None):
        print(self.text(), end="")
        parser.exit()


class HelpFormatter(argparse.HelpFormatter):
    """Formatter that does not rewrap the lines of examples or break flags at hyphens."""

    def _split_lines(self, text, width):
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text, width, indent):
        filled = super()._fill_text
        parts = text.split("\n\n")
        return "\n\n".join(
            part if part.startswith("examples:") else filled(part, width, indent) for part in parts
        )


def value_name(name: str, option: Option) -> str:
    """Returns the name of an option's value in the help, such as `FILE`, `N` or `{tab,json}`."""
    if option.kind is bool:
        return "false" if option.default else "true"
    if option.choices:
        return "{" + ",".join(map(str, option.choices)) + "}"
    return option.metavar or METAVARS.get(option.kind, name.upper())


def value_words(name: str, option: Option) -> str:
    """Returns the form of an option's value in the usage line of the help.

    The form is `FILE` if the value is required, otherwise `[FILE]`. For an option with several
    values, it is `FILE [FILE ...]` or `[FILE ...]`.
    """
    value = value_name(name, option._replace(choices=None))
    if option.many:
        return f"{value} [{value} ...]" if option.required else f"[{value} ...]"
    return value if option.required else f"[{value}]"


def default_text(value) -> str:
    """Returns the text that the help shows for a default value, or "" if it shows none."""
    if value in (None, False, "") and type(value) not in (int, float):
        return ""
    if value is True:
        return "on"
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
