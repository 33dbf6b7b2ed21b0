"""stored_help: parsers of programs, without importing the programs and TensorFlow."""

import argparse
import pathlib

from tfreps.cli.program_help import HelpFormatter
from tfreps.files.json_files import read_json

FILE = pathlib.Path(__file__).with_suffix(".json")  # written by `make api`
ACTIONS = {
    argparse._StoreAction: "store",
    argparse._StoreTrueAction: "store_true",
    argparse._HelpAction: "help",
    argparse.BooleanOptionalAction: "boolean",  # --x and --no-x
}
KEPT = "default", "metavar", "help"  # attributes of an option that are stored as they are


def stored_parser(words: list[str]) -> argparse.ArgumentParser | None:
    """Returns a parser that knows the flags of a command and prints its help.

    Args:
        words: list of str. Arguments of `tfreps`.

    Returns:
        `argparse.ArgumentParser`. `None` if the arguments do not start with a program whose help
        is stored or, for `plot` with other arguments than `--help`, with a kind of plot.

    Example:
    >>> stored_parser(["tag", "runs/ner", "--lowercase"]).prog
    'tfreps tag'
    >>> stored_parser(["plot", "lines"])
    """
    stored = read_json(FILE)
    for name in (" ".join(words[:2]), " ".join(words[:1])):
        has_kinds = any(other.startswith(f"{name} ") for other in stored)
        if name in stored and not (has_kinds and words[1:] not in (["--help"], ["-h"])):
            return as_parser(stored[name])
    return None


def as_dict(parser: argparse.ArgumentParser) -> dict:
    """Returns what the help of a parser shows, as JSON values.

    Args:
        parser: `argparse.ArgumentParser` that `tfreps.cli.program_help.program_parser` created.

    Raises:
        ValueError: If an option has an action that is not one of `ACTIONS`.
    """
    groups = [group for group in parser._action_groups if group._group_actions]
    homes = {id(action): n for n, group in enumerate(groups) for action in group._group_actions}
    return {
        **{name: getattr(parser, name) for name in ("prog", "usage", "description", "epilog")},
        "groups": [{"title": group.title, "description": group.description} for group in groups],
        "options": [{**_option(each), "group": homes[id(each)]} for each in parser._actions],
    }


def as_parser(stored: dict) -> argparse.ArgumentParser:
    """Returns a parser that shows the help of the parser from which `as_dict` made a dict.

    Example:
    >>> parser = argparse.ArgumentParser("tfreps count", formatter_class=HelpFormatter)
    >>> _ = parser.add_argument("--by", default=2, metavar="N", help="Step.")
    >>> as_parser(as_dict(parser)).format_help() == parser.format_help()
    True
    """
    names = "prog", "usage", "description", "epilog"
    parser = argparse.ArgumentParser(
        **{name: stored[name] for name in names}, formatter_class=HelpFormatter, add_help=False
    )
    known = {group.title: group for group in parser._action_groups}  # those of argparse itself
    groups = [known.get(g["title"]) or parser.add_argument_group(**g) for g in stored["groups"]]
    for option in stored["options"]:
        _add(groups[option.pop("group")], **option)
    return parser


def _option(action):
    """Returns the arguments of `_add` for an option, and only those that it needs."""
    if type(action) not in ACTIONS:
        raise ValueError(f"the action of {action.dest} must be one of {[*ACTIONS.values()]}.")
    kind = ACTIONS[type(action)]
    names = action.option_strings[:1] if kind == "boolean" else action.option_strings
    kept = {name: getattr(action, name) for name in KEPT}
    kept["choices"] = None if action.choices is None else list(action.choices)
    kept["nargs"] = action.nargs or None  # 0 belongs to the action
    kept["required"] = True if action.required and names else None
    kept = {name: value for name, value in kept.items() if value is not None}
    return {"names": names or [action.dest], "action": kind, **kept}


def _add(group, names, action, **rest):
    """Adds an option to a group of a parser."""
    kind = argparse.BooleanOptionalAction if action == "boolean" else action
    group.add_argument(*names, action=kind, **rest).help = rest["help"]
