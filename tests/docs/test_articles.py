"""The page of the articles: the same code in both languages, and commands that can be run."""

import importlib.util
import re
import shlex

import pytest

from benchmarks.tables import TABLES
from tests.docs.pages import DOCS
from tfreps._src.cli.commands import COMMANDS, import_command

ENGLISH, CHINESE = (
    (DOCS / "coming_from" / name).read_text(encoding="utf-8")
    for name in ("articles.md", "articles_zh.md")
)


def code_blocks(text):
    return re.findall(r"^```.*?^```$", text, re.M | re.S)


def commands_of(text):
    """Returns the commands of the blocks that run in a shell, and of the last table."""
    shell = re.findall(r"^```(?:bash|\{run-command\})\n(.*?)^```", text, re.M | re.S)
    lines = "".join(shell).replace("\\\n", " ").splitlines()
    return lines + re.findall(r"\| `((?:tfreps|python -m) [^`]*)` \|$", text, re.M)


def test_both_languages_have_the_same_code():
    assert code_blocks(ENGLISH) == code_blocks(CHINESE)
    assert commands_of(ENGLISH) == commands_of(CHINESE)


@pytest.mark.parametrize("line", dict.fromkeys(commands_of(ENGLISH)))
def test_commands_can_be_parsed(line):
    program, name, *words = shlex.split(line)
    if program == "tfreps":
        module = import_command(COMMANDS[name][0])
        command = module.COMMANDS[words.pop(0)] if name == "plot" else module.COMMAND
        command.parse(words)
        return
    module, *words = words
    assert importlib.util.find_spec(module)
    if module == "benchmarks.tables":
        only = words[words.index("--only") + 1] if "--only" in words else ""
        assert any(only in row for row in TABLES[words[0]])
