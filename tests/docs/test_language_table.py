"""The table of languages, which the build writes and howto/languages.md includes."""

import re

from tests.docs.pages import DOCS, extension
from tfreps._src.presets.preset_table import rows

file_pages = extension("file_pages")


def test_every_elmo_is_in_the_table():
    lines = [line.split(" | ") for line in file_pages.languages().splitlines()[2:]]
    names = [name.strip("`") for _, name, *_ in lines]
    assert sorted(names) == sorted(n for n, row in rows().items() if "elmo" in n or n == "seqvec")
    assert all(len(line) == 4 for line in lines)
    [estonian] = [line for line in lines if line[1] == "`elmo_many_et`"]
    assert estonian[0] == "| Estonian" and estonian[2:] == [
        "words of Universal Dependencies", "vectors.nlpl.eu |",
    ]  # fmt: skip


def test_the_page_includes_it():
    page = DOCS / "howto/languages.md"
    [name] = re.findall(r"^```\{include\} (.+)$", page.read_text(encoding="utf-8"), re.M)
    assert (page.parent / name).resolve() == DOCS / file_pages.FOLDER / "languages.txt"
