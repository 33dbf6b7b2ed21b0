"""The annotated tree has a comment on every line."""

import shutil

import pytest

from tests import annotated_tree
from tests.conftest import CHECKOUT

needs_git = pytest.mark.skipif(
    shutil.which("git") is None or not (CHECKOUT / ".git").exists(),
    reason="needs a git checkout to know which files belong to it",
)


@needs_git
def test_every_line_has_a_comment():
    for line in annotated_tree.lines(annotated_tree.tracked_files()):
        assert len(line.split(None, 1)) == 2, f"{line.strip()} has no docstring"


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
