"""The guides: they use public names alone, each has a figure and a card, numbers are recorded."""

import ast
import re

import pytest

from tests.conftest import CHECKOUT
from tests.docs.pages import DOCS, extension

page_code = extension("page_code")
GUIDES = sorted(path for path in (DOCS / "guides").glob("*.md") if path.stem != "index")


def trees(path):
    """Returns the syntax trees of the Python blocks of a page that run."""
    found = page_code.blocks(path.read_text(encoding="utf-8"))
    return [ast.parse(code) for kind, code, _ in found if kind == "run-python"]


def modules(tree):
    """Yields the names of the modules that Python code imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_guides_import_public_modules_alone(path):
    found = {name for tree in trees(path) for name in modules(tree)}
    assert not [name for name in found if name.startswith("tests") or "._" in name]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_every_guide_has_a_figure_and_a_card(path):
    assert "\n:figure: " in path.read_text(encoding="utf-8")
    index = (DOCS / "guides" / "index.md").read_text(encoding="utf-8")
    for line in f":link: {path.stem}", f":img-top: ../images/run/guides/{path.stem}/1.png":
        assert f"\n{line}\n" in index
    assert path.stem in index.rpartition("```{toctree}")[2].split()


def test_recorded_numbers_are_those_of_the_results():
    """The guides that draw recorded tables repeat training/RESULTS.md."""
    results = (CHECKOUT / "training" / "RESULTS.md").read_text(encoding="utf-8")
    checked = 0
    for name in ("tables.md", "slstm.md"):
        for tree in trees(DOCS / "guides" / name):
            for node in ast.walk(tree):
                if isinstance(node, ast.Dict) and len(node.keys) > 8:
                    rows = ast.literal_eval(node)
                    assert all(f"{first:.4f}" in results for first, _ in rows.values()), name
                    checked += len(rows)
    assert checked == 33


def test_outputs_and_figures_of_a_page(tmp_path):
    text = (
        "```{run-python}\n:figure: A line.\nimport matplotlib.pyplot as plt\n"
        "plt.plot([1, 2])\nprint('drawn')\n```\n\n"
        "```{run-python}\n40 + 2\n```\n\n```{run-python}\n1 / 0\n```\n\n"
        "```{run-python}\nprint('not reached')\n```\n"
    )
    page_code.run_page("page", text, tmp_path)
    first, second, third = page_code.json.loads((tmp_path / "outputs.json").read_text())
    assert first == {"output": "drawn", "figures": ["1.png"]}
    assert (tmp_path / "1.png").read_bytes().startswith(b"\x89PNG")
    assert second == {"output": "42", "figures": []}
    assert re.search(r'File "page", line 13.*\n.*ZeroDivisionError', third["error"], re.S)
