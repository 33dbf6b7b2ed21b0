"""The guides: they compile, use public names alone, are listed, and run as they stand."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.conftest import CHECKOUT
from tests.docs.pages import DOCS, GUIDES, extension


def names(path):
    """Names that a guide imports or reads, as `module` or `module.name`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.attr


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_guides_use_public_names_alone(path):
    text = path.read_text(encoding="utf-8")
    compile(text, str(path), "exec")
    found = set(names(path)) - {"tfreps.__main__.main"}  # the command, from Python
    assert not [name for name in found if name.startswith("tests")]
    assert not [n for n in found if any(part.startswith("_") for part in n.split("."))]
    title, line = text.split("\n")[1:3]
    assert set(line) == {"="} and len(line) >= len(title)


def test_every_guide_has_its_place():
    order = extension("gallery_order").ORDER
    assert sorted(order) == [path.name for path in GUIDES]


def test_links_to_guides_lead_somewhere():
    stems = {path.stem for path in GUIDES}
    for path in [*DOCS.glob("*.md"), *DOCS.glob("*/*.md"), *GUIDES]:
        found = re.findall(r"auto_guides/(plot_\w+)", path.read_text(encoding="utf-8"))
        assert set(found) <= stems, path


def test_recorded_numbers_are_those_of_the_results():
    """The guides that draw recorded tables repeat training/RESULTS.md."""
    results = (CHECKOUT / "training" / "RESULTS.md").read_text(encoding="utf-8")
    for name in ("plot_tables.py", "plot_slstm.py"):
        tree = ast.parse((DOCS / "guides" / name).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict) and len(node.keys) > 8:
                rows = ast.literal_eval(node)
                assert all(f"{first:.4f}" in results for first, _ in rows.values()), name


@pytest.mark.slow
@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_guides_run(path, tmp_path):
    process = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr[-4000:]
    assert not list(pathlib.Path(tmp_path).iterdir())  # files go to a temporary folder
