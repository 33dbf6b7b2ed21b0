"""Tests the stored help: it is what the programs print, and showing it imports no TensorFlow."""

import argparse
import json
import subprocess
import sys

import pytest

from tests import stored_help as writer
from tfreps import __main__ as command
from tfreps.cli import stored_help
from tfreps.cli.program_help import program_parser

CHANGED = "The help of tfreps {} has changed. Run `make api`, which updates tfreps/cli/{}."


@pytest.mark.parametrize("name", writer.NAMES)
def test_the_stored_help_is_that_of_the_program(name, monkeypatch):
    stored = json.loads(stored_help.FILE.read_text(encoding="utf-8"))
    parser = writer.shown_parser(name.split())
    message = CHANGED.format(name, stored_help.FILE.name)
    assert stored.get(name) == json.loads(json.dumps(stored_help.as_dict(parser))), message
    for columns in ("80", "132"):
        monkeypatch.setenv("COLUMNS", columns)
        shown = stored_help.stored_parser([*name.split(), "--help"])
        assert shown.format_help() == parser.format_help()


def test_only_programs_that_exist_are_stored():
    stored = json.loads(stored_help.FILE.read_text(encoding="utf-8"))
    assert sorted(stored) == sorted(writer.NAMES), "run `make api`"


@pytest.mark.parametrize(
    "words, name",
    [
        (["tag"], "tag"),
        (["tag", "runs/ner", "--help"], "tag"),
        (["plot", "--help"], "plot"),
        (["plot", "curves", "runs/ner"], "plot curves"),
        (["plot", "curvs"], None),
        (["launch", "--workers", "2"], None),
        (["--help"], None),
        ([], None),
    ],
)
def test_which_parser_a_command_has(words, name):
    parser = stored_help.stored_parser(words)
    assert (parser and parser.prog) == (name and f"tfreps {name}")


def test_every_kind_of_option_and_no_other():
    parser = program_parser("tfreps count", "Counts.", ("tfreps count --by 3",), "tfreps count A")
    add = parser.add_argument_group("numbers", "Numbers to count.").add_argument
    add("first", help="First number.")
    add("more", nargs="*", help="Other numbers.", metavar="MORE")
    add("--by", type=int, default=2, choices=[2, 3], required=True, help="Step.")
    add("--no-zero", action="store_true", help="Leave out zero.")
    add("--fast", action=argparse.BooleanOptionalAction, default=True, help="Hurry.")
    add("--scales", nargs="+", type=float, default=[0.5, 1.0], metavar="X", help="Scales.")
    parser.general.add_argument("--config", help="File.")
    parser.add_argument("last", help="Last number.")
    copy = stored_help.as_parser(json.loads(json.dumps(stored_help.as_dict(parser))))
    copy_usage, parser.usage, copy.usage = copy.usage, None, None
    assert copy_usage == "tfreps count A" and copy.format_help() == parser.format_help()
    parser.add_argument("--count", action="count", help="Count.")
    with pytest.raises(ValueError, match="the action of count must be one of"):
        stored_help.as_dict(parser)


def test_help_is_shown_without_tensorflow():
    code = (
        "import sys; from tfreps.__main__ import main\n"
        "try: main(['tag', '--help'])\n"
        "except SystemExit as end: sys.exit(end.code or 'tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("usage: tfreps tag"), done.stderr


def test_the_command_prints_it(capsys, monkeypatch):
    monkeypatch.setattr(command, "import_program", None)  # is not called
    with pytest.raises(SystemExit) as end:
        command.main(["train-tagger", "-h"])
    assert end.value.code == 0
    assert "--learning-rate" in capsys.readouterr().out
