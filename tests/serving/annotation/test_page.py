"""The Python blocks of the page about large corpora run unchanged."""

import re
import subprocess
import sys

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

from tests.conftest import CHECKOUT
from tests.serving.annotation.formats.formats_catalogue import WRITE
from tfreps.serving.annotation.corpus import annotate_corpus

PAGE = (CHECKOUT / "docs/howto/large_corpora.md").read_text(encoding="utf-8")
REASON = "% not run: needs Beam; tests/serving/annotation/test_page.py runs it\n"
BLOCKS = re.findall(REASON + "```python\n(.*?)```", PAGE, re.DOTALL)
FORMATS = {"annotated": "jsonl", **{f"annotated-{name}": name for name in WRITE if name != "jsonl"}}


@pytest.fixture(scope="module")
def folder(export, tmp_path_factory):
    """Returns a folder with the export and the outputs that the page names."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "exports").mkdir()
    (folder / "exports" / "ner").symlink_to(export("tagger")[1])
    (folder / "in.txt").write_text("Ada lives in London .\n\n")
    for name, output_format in FORMATS.items():
        given = str(folder / "exports/ner"), [str(folder / "in.txt")], str(folder / name)
        annotate_corpus(*given, output_format=output_format)
    return folder


def test_the_page_has_blocks():
    assert len(BLOCKS) == 6


@pytest.mark.parametrize("number", range(6))
def test_a_block(folder, number):
    script = folder / f"block{number}.py"
    script.write_text(BLOCKS[number])
    command = [sys.executable, str(script)]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[-2000:]
    assert "Ada" in found.stdout or "PER" in found.stdout or "LOC" in found.stdout, found.stdout
