"""Writes the help of the programs that import TensorFlow to tfreps/cli/stored_help.json."""

import argparse
import contextlib
import json

from tfreps import __main__ as command
from tfreps.cli.stored_help import FILE, as_dict

# Programs whose help needs no TensorFlow anyway.
QUICK = {"predict", "query", "serve"} | command.WITHOUT_TENSORFLOW
NAMES = sorted({*command.PROGRAMS} - QUICK)
NAMES += ["plot attention", "plot positions", "plot curves"]


class Asked(BaseException):
    """Raised instead of printing the help of a parser."""


def shown_parser(words):
    """Returns the parser whose help a program prints, without printing it."""

    def stop(parser, *_):
        raise Asked(parser)

    with contextlib.ExitStack() as stack:
        given = argparse.ArgumentParser.print_help
        stack.callback(setattr, argparse.ArgumentParser, "print_help", given)
        argparse.ArgumentParser.print_help = stop
        try:
            command.import_program(command.PROGRAMS[words[0]][0]).main([*words[1:], "--help"])
        except Asked as asked:
            return asked.args[0]
    raise AssertionError(f"{words} printed no help")


def text():
    """Returns the text of the file, with one option per line."""
    programs = []
    for name in NAMES:
        stored = as_dict(shown_parser(name.split()))
        options = ",\n  ".join(map(as_json, stored.pop("options")))
        programs.append(f'{as_json(name)}: {as_json(stored)[:-1]}, "options": [\n  {options}]}}')
    return "{\n" + ",\n".join(programs) + "\n}\n"


def as_json(value):
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
