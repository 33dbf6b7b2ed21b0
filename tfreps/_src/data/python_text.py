"""Reads English text from Python: its help topics and the docstrings of installed code."""

import ast
import itertools
import os
import pathlib
import re
import sysconfig
import warnings
from collections.abc import Iterator

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# A sentence ends after . ! ? and closing quotes, before a capital letter, digit or opening mark.
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]”]*\s+(?=[\"'(\[“]*[A-Z0-9])")
_CODE_LINE = re.compile(r"\s*(>>>|\.\.\.|\.\. |[-+|=~^*#]{3,}|[|+@$%#]|import |from \w+ import )")
_BULLET = re.compile(r"\s*([-*+•]|\d+[.)])\s+")


def python_documents() -> Iterator[tuple[str, str]]:
    """Yields `(name, text)` for each of pydoc's help topics and each of `docstring_documents`."""
    from pydoc_data.topics import topics

    for name in sorted(topics):
        yield f"topic {name}", topics[name]
    yield from docstring_documents()


def docstring_documents() -> Iterator[tuple[str, str]]:
    """Yields `(relative path, docstrings)` for each file of Python and the installed packages.

    `docstrings` is one text. It is parsed from the source file; no module is imported.
    """
    paths = sysconfig.get_paths()
    yield from docstrings(paths["stdlib"], leave_out=("site-packages", "dist-packages"))
    for folder in sorted({paths["purelib"], paths["platlib"]}):
        yield from docstrings(folder, leave_out=())


def docstrings(root: str, leave_out: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yields `(relative path, text of all docstrings)` for each source file below a folder.

    Folders that contain tests or vendored packages are skipped, and so are folders named in
    `leave_out`.
    """
    others = {*leave_out, "test", "tests", "testing", "__pycache__", "_vendor", "idlelib"}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - others)
        for path in (os.path.join(folder, name) for name in sorted(files) if name[-3:] == ".py"):
            yield os.path.relpath(path, root), "\n\n".join(docstrings_of_file(path))


def docstrings_of_file(path: str) -> list[str]:
    """Returns the docstrings of a source file, or `[]` if it cannot be parsed."""
    try:
        source = pathlib.Path(path).read_text(encoding="utf-8-sig")
        if '"""' not in source:
            return []
        with warnings.catch_warnings():
            # Python warns about invalid escapes in the strings of other projects.
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    texts = map(ast.get_docstring, documented(tree))
    return [text for text in texts if text and "\0" not in text]


def documented(tree: ast.Module) -> list[Documented]:
    """Returns the syntax tree nodes of a module and of its classes, functions and methods."""
    found: list[Documented] = [tree]
    for node in found:
        if isinstance(node, ast.Module | ast.ClassDef):
            defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            found.extend(child for child in node.body if isinstance(child, defined))
    return found


def paragraphs(text: str) -> Iterator[str]:
    """Yields the paragraphs of a text without list markers and code lines."""
    lines = []
    for line in itertools.chain(text.splitlines(), [""]):
        bullet = _BULLET.match(line)
        code = _CODE_LINE.match(line)
        if lines and (bullet or code or not line.strip()):
            yield " ".join(lines)
            lines = []
        if line.strip() and not code:
            start = bullet.end() if bullet else 0
            lines.append(line[start:].strip())
