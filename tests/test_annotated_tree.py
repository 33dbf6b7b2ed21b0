"""The annotated tree has a comment on every line, and its files are short."""

import shutil

import pytest

from tests import annotated_tree
from tests.conftest import CHECKOUT

LONGEST_FILE = 500
needs_git = pytest.mark.skipif(
    shutil.which("git") is None or not (CHECKOUT / ".git").exists(),
    reason="needs a git checkout to know which files belong to it",
)


@needs_git
def test_every_line_has_a_comment():
    lines = annotated_tree.lines(annotated_tree.tracked_files())
    assert [line for line in lines if len(line.split(None, 1)) < 2] == []


@needs_git
def test_files_are_short():
    paths = [CHECKOUT / name for name in annotated_tree.tracked_files() if name.endswith(".py")]
    assert [
        str(path) for path in paths if path.read_text(encoding="utf-8").count("\n") > LONGEST_FILE
    ] == []


def test_lines(tmp_path):
    for name in ("setup.py", "pack/a.py", "pack/__init__.py", "pack/inner/b.py", "tests/test_a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'"""About {name}.\n\nMore."""\n')
    files = ["setup.py", "pack/__init__.py", "pack/inner/b.py", "pack/a.py", "tests/test_a.py"]
    assert [line.split(None, 1) for line in annotated_tree.lines(files, tmp_path)] == [
        ["Makefile", annotated_tree.COMMENTS["Makefile"]],
        ["pyproject.toml", annotated_tree.COMMENTS["pyproject.toml"]],
        ["setup.py", "About setup.py"],
        ["pack/", "About pack/__init__.py"],
        ["a.py", "About pack/a.py"],
        ["inner/"],
        ["b.py", "About pack/inner/b.py"],
        ["tests/", annotated_tree.COMMENTS["tests/"]],
    ]
