"""The library never prints and never speaks of flags: programs do."""

import ast
import re

import pytest

from tests.conftest import CHECKOUT
from tests.test_imports import LIBRARY

# What programs share may print, in the modules whose job that is, and name their flags.
OF_PROGRAMS = [path for path in LIBRARY if path.parts[1] in ("cli", "__main__.py")]
PRINTS = {"tfreps/__main__.py"}
PRINTS |= {f"tfreps/cli/{name}.py" for name in ("messages", "progress", "standard_streams")}
# Files that name flags of other programs, or print because Keras does; and why.
FOREIGN = {
    "tfreps/backend.py": "how pip is called",
    "tfreps/export/export_check.py": "how saved_model_cli is called",
    "tfreps/export/notes.py": "the notes in an export say how servers are started",
    "tfreps/export/text_counts.py": "so does its sentence in them",
    "tfreps/models/whole_model.py": "`verbose` of `keras.Model.export`",
}
EXEMPT = {*OF_PROGRAMS, *(path for path in LIBRARY if path.as_posix() in FOREIGN)}
FLAG = re.compile(r"(^|[\s(`'\"])--[a-z]")


def calls_of_print(path):
    """The lines in which a file calls `print`."""
    tree = ast.parse((CHECKOUT / path).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if getattr(call.func, "id", None) == "print"]


def docstrings(tree):
    """The nodes of all docstrings, which may say what programs do with something."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value


def strings_with_flags(source):
    """The lines of strings, docstrings aside, that hold something like ` --flag`."""
    tree = ast.parse(source)
    passed = {id(node) for node in docstrings(tree)}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in passed and FLAG.search(node.value)
    ]


@pytest.mark.parametrize("path", [path for path in LIBRARY if path not in EXEMPT], ids=str)
def test_the_library_is_silent(path):
    assert calls_of_print(path) == []
    assert strings_with_flags((CHECKOUT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", OF_PROGRAMS, ids=str)
def test_what_programs_share_prints_in_few_places(path):
    assert path.as_posix() in PRINTS or calls_of_print(path) == []


def test_every_exception_is_needed():
    for path in FOREIGN:
        source = (CHECKOUT / path).read_text(encoding="utf-8")
        assert calls_of_print(path) or strings_with_flags(source), path


def test_what_speaks_of_flags():
    spoken = '"""With --flag."""\nx = "Give --flag."\ny = f"{x}: leave `--{x}` or --flag out"\n'
    assert strings_with_flags(spoken) == [2, 3]
    assert strings_with_flags("x = 'a---b', 'one -- two', '1--2'\n") == []
