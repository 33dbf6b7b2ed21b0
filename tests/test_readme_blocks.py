"""Runs the Python blocks of README.md and the commands marked with `<!-- run -->`."""

import re
import shlex
import textwrap

import pytest

from tests.conftest import CHECKOUT
from tfreps.__main__ import main

BLOCK = re.compile(r"^([ \t]*)```python\n(.*?)^[ \t]*```", re.M | re.S)
COMMANDS = re.compile(r"<!-- run -->\n```bash\n(.*?)^```", re.M | re.S)
NOT_RUN = re.compile(r"<!-- not run: \w(?:(?!-->).)*-->\s*\Z", re.S)


def readme_sections(text):
    """Returns `(heading, [(line number, code)])` for every section with Python blocks to run."""
    sections = {}
    for match in BLOCK.finditer(text):
        before = text[: match.start()]
        headings = re.findall(r"^##? (.+)$", re.sub(r"```.*?```", "", before, flags=re.S), re.M)
        if not NOT_RUN.search(before):
            line = text[: match.start(2)].count("\n") + 1
            block = (line, textwrap.dedent(match[2]))
            sections.setdefault(headings[-1] if headings else "", []).append(block)
    return list(sections.items())


def readme_commands(text, heading):
    """Returns the commands to run before the Python blocks of a section, split into words."""
    section = re.split(rf"^##? {re.escape(heading)}$", text, flags=re.M)[-1]
    section = re.split(r"^##? ", re.sub(r"(?m)^##? ", "## ", section), flags=re.M)[0]
    lines = "".join(COMMANDS.findall(section)).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines]


TEXT = (CHECKOUT / "README.md").read_text(encoding="utf-8")
README = readme_sections(TEXT)
SLOW = "Train, load, ask", "Tour 2: ELMo inside Keras"  # they train or export models


@pytest.mark.parametrize(
    "heading, blocks",
    [
        pytest.param(heading, b, id=heading, marks=pytest.mark.slow if heading in SLOW else ())
        for heading, b in README
    ],
)
def test_readme_blocks(heading, blocks, tmp_path, monkeypatch):
    """The blocks of a section run in order, in one namespace and in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    for command in readme_commands(TEXT, heading):
        assert main(command) == 0
    namespace = {"__name__": "__main__"}
    for line, code in blocks:
        # The leading empty lines make a traceback show the line number in README.md.
        exec(compile("\n" * (line - 1) + code, str(CHECKOUT / "README.md"), "exec"), namespace)


def test_which_blocks_are_run():
    text = (
        "# T\n```python\na = 1\n```\n## One\n```bash\n# not a heading\n```\ntext\n"
        "```python\nb = 1\n```\n<!-- not run: needs weights -->\n```python\nc = 1\n```\n"
        "<!-- a remark -->\n- item\n  ```python\n  if d:\n      d = 1\n  ```\n"
        "## Two\n<!-- not run: -->\n```python\ne = 1\n```\n"
    )
    assert readme_sections(text) == [
        ("T", [(3, "a = 1\n")]),
        ("One", [(11, "b = 1\n"), (20, "if d:\n    d = 1\n")]),
        ("Two", [(26, "e = 1\n")]),  # without a reason, it is run
    ]


def test_which_commands_are_run():
    text = (
        "# T\n<!-- run -->\n```bash\ntfreps a --b \\\n   c  # why\ntfreps d\n```\n"
        "```bash\ntfreps e\n```\n"
        "## One\n<!-- run -->\n```bash\ntfreps f\n```\n"
    )
    assert readme_commands(text, "T") == [["a", "--b", "c"], ["d"]]
    assert readme_commands(text, "One") == [["f"]]
