"""The annotated tree in README.md matches the checkout and has a comment on every line."""

import shutil

import pytest

from tests import readme_tree
from tests.conftest import CHECKOUT

needs_git = pytest.mark.skipif(
    shutil.which("git") is None or not (CHECKOUT / ".git").exists(),
    reason="needs a git checkout to know which files belong to it",
)


@needs_git
def test_the_tree_is_up_to_date():
    tree = list(readme_tree.lines(readme_tree.tracked_files()))
    text = readme_tree.README.read_text(encoding="utf-8")
    written = text.split(readme_tree.START)[1].split("```text\n")[1].split("\n```")[0].splitlines()
    assert written == tree, "run `make tree` and commit README.md"


@needs_git
def test_every_line_has_a_comment():
    for line in readme_tree.lines(readme_tree.tracked_files()):
        assert len(line.split(None, 1)) == 2, f"{line.strip()} has no docstring"


def test_lines(tmp_path):
    for name in ("setup.py", "pack/a.py", "pack/__init__.py", "pack/inner/b.py", "tests/test_a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'"""About {name}.\n\nMore."""\n')
    files = ["setup.py", "pack/__init__.py", "pack/inner/b.py", "pack/a.py", "tests/test_a.py"]
    assert [line.split(None, 1) for line in readme_tree.lines(files, tmp_path)] == [
        ["Makefile", readme_tree.COMMENTS["Makefile"]],
        ["pyproject.toml", readme_tree.COMMENTS["pyproject.toml"]],
        ["setup.py", "About setup.py"],
        ["pack/", "About pack/__init__.py"],
        ["a.py", "About pack/a.py"],
        ["inner/"],
        ["b.py", "About pack/inner/b.py"],
        ["tests/", readme_tree.COMMENTS["tests/"]],
    ]


def test_writing_changes_the_tree_only():
    text = f"# Title\n\n{readme_tree.START} from docstrings -->\nold\n{readme_tree.END}\n\nMore.\n"
    once = readme_tree.with_tree(text, ["a.py  About a"])
    assert once == (
        f"# Title\n\n{readme_tree.START} from docstrings -->\n```text\na.py  About a\n```\n"
        f"{readme_tree.END}\n\nMore.\n"
    )
    assert readme_tree.with_tree(once, ["a.py  About a"]) == once
