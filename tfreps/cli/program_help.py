"""Parsers of the programs, with defaults, groups and example commands in the help."""

import argparse
import re
import textwrap

TITLE = "examples:"  # first line of the epilog of `program_parser`


class HelpFormatter(argparse.HelpFormatter):
    """Help formatter that shows defaults and keeps the line breaks of example commands.

    The default of an option follows the first sentence of its help. No default is shown for options
    without one or for switches that are off by default.
    """

    def _get_help_string(self, action):
        about, default = action.help or "", default_text(action)
        if not default:
            return about
        first, end, rest = re.fullmatch(r"(.*?)(\.?)((?<=\.) .*)?", about, re.DOTALL).groups()
        return f"{first} (default: {default.replace('%', '%%')}){end}{rest or ''}"

    def _split_lines(self, text, width):
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text, width, indent):
        if not text.startswith(TITLE):
            return super()._fill_text(text, width, indent)
        return "".join(indent + line for line in text.splitlines(keepends=True))


def program_parser(prog: str, about: str, examples: tuple[str, ...] = (), usage: str | None = None):
    """Creates the parser of a program, with a group for options that every program has.

    Args:
        prog: str. Name of the command, such as `"tfreps tag"`.
        about: str. Description at the start of the help.
        examples: tuple of str. Commands shown at the end of the help. A command may have several
            lines, each of which except the last ends with a backslash. Defaults to `()`.
        usage: str. Usage line. If `None`, argparse generates it. Defaults to `None`.

    Returns:
        `argparse.ArgumentParser`. Its attribute `general` is the group with `--help`.

    Example:
    >>> parser = program_parser("tfreps count", "Counts.", ("tfreps count --by 3",))
    >>> _ = parser.general.add_argument("--by", type=int, default=2, help="Step. Must be positive.")
    >>> print(parser.format_help())
    usage: tfreps count [-h] [--by BY]
    <BLANKLINE>
    Counts.
    <BLANKLINE>
    general:
      Options that every program has.
    <BLANKLINE>
      -h, --help  Show this help and exit.
      --by BY     Step (default: 2). Must be positive.
    <BLANKLINE>
    examples:
      tfreps count --by 3
    <BLANKLINE>
    """
    lines = [f"  {line}" for command in examples for line in command.splitlines()]
    parser = argparse.ArgumentParser(
        prog=prog,
        usage=usage,
        description=about,
        epilog="\n".join([TITLE, *lines]) if examples else None,
        formatter_class=HelpFormatter,
        add_help=False,
    )
    parser.general = parser.add_argument_group("general", "Options that every program has.")
    parser.general.add_argument("-h", "--help", action="help", help="Show this help and exit.")
    return parser


def default_text(action: argparse.Action) -> str:
    """Returns the default of a flag as its help shows it, or "" if the help shows no default.

    Example:
    >>> parser = argparse.ArgumentParser()
    >>> default_text(parser.add_argument("--rate", default=5e-4))
    '0.0005'
    >>> default_text(parser.add_argument("--widths", default=[3, 4, 5]))
    '3 4 5'
    """
    value = action.default
    if value in (None, False, "", argparse.SUPPRESS) and type(value) not in (int, float):
        return ""
    if value is True:
        return "on"
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
