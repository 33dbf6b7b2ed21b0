"""The library never prints and never mentions flags; only programs do."""

import ast
import re

import pytest

from tests.conftest import CHECKOUT
from tests.test_imports import LIBRARY

# Code shared by programs may mention flags, and may print.
OF_PROGRAMS = [path for path in LIBRARY if path.parts[1] in ("cli", "__main__.py")]
# Files that mention flags of other programs, or print as Keras does, and the reason.
FOREIGN = {
    "tfreps/backend.py": "a command line of pip",
    "tfreps/distribute/beam/beam_runners.py": "flags of Beam",
    "tfreps/export/export_check.py": "a command line of saved_model_cli",
    "tfreps/export/notes.py": "the notes in an export describe how to start servers",
    "tfreps/export/text_counts.py": "its sentence in these notes",
    "tfreps/models/whole_model.py": "`verbose` of `keras.Model.export`",
}
EXEMPT = {*OF_PROGRAMS, *(path for path in LIBRARY if path.as_posix() in FOREIGN)}
FLAG = re.compile(r"(^|[\s(`'\"])--[a-z]")


def calls_of_print(path):
    """Returns the numbers of the lines in which a file calls `print`."""
    tree = ast.parse((CHECKOUT / path).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if getattr(call.func, "id", None) == "print"]


def docstrings(tree):
    """Yields the nodes of all docstrings, which may mention programs."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value


def strings_with_flags(source):
    """Returns the line numbers of strings, except docstrings, that contain a flag."""
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


def test_every_exception_is_needed():
    for path in FOREIGN:
        source = (CHECKOUT / path).read_text(encoding="utf-8")
        assert calls_of_print(path) or strings_with_flags(source), path


def test_what_speaks_of_flags():
    spoken = '"""With --flag."""\nx = "Give --flag."\ny = f"{x}: leave `--{x}` or --flag out"\n'
    assert strings_with_flags(spoken) == [2, 3]
    assert strings_with_flags("x = 'a---b', 'one -- two', '1--2'\n") == []
