"""Writes pages from files of the checkout: results, changes, languages, file tree."""

import pathlib
import re
import shutil

from written_pages import write_pages

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = "reference/files"
PAGES = {
    "training/RESULTS.md": "results.md",
    "benchmarks/RESULTS.md": "speed.md",
    "CHANGELOG.md": "changes.md",
}


def setup(app):
    app.connect("builder-inited", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_all(app):
    pages = {page: on_site(read(name)) for name, page in PAGES.items()}
    pages |= {
        "tree.md": tree(),
        "languages.txt": languages(),  # included by howto/languages.md
    }
    write_pages(app.srcdir / FOLDER, pages)
    for folder, page in (("training", "results.md"), ("benchmarks", "speed.md")):
        for plot in (CHECKOUT / folder).glob("*.png"):
            if plot.name in pages[page]:
                shutil.copyfile(plot, app.srcdir / FOLDER / plot.name)


def read(name):
    return (CHECKOUT / name).read_text(encoding="utf-8")


def on_site(text):
    """Turns inline names of pages and results into links, and links to other files into code."""
    text = re.sub(r"(?<!!)\[([^]]+)\]\((?!https?:)([^)#]+)\)", r"`\2`", text)
    text = re.sub(r"`docs/([\w/]+\.md)`", r"[](../../\1)", text)
    for name, page in PAGES.items():
        text = text.replace(f"`{name}`", f"[]({page})")
    return text


def languages():
    """Returns the table of the published ELMo weights by language, in Markdown."""
    from tfreps._src.presets.preset_table import list_presets

    lines = ["| language | name | tokens | from |", "|---|---|---|---|"]
    for row in sorted(list_presets(), key=lambda row: row.language):
        if row.kind in ("elmo", "many_langs"):
            lines.append(f"| {row.language} | `{row.name}` | {row.tokens} | {row.host} |")
    return "\n".join([*lines, ""])


def tree():
    """Returns the page that lists the files of the checkout with the first lines of docstrings."""
    import sys

    sys.path.insert(0, str(CHECKOUT))
    from tests.annotated_tree import lines, tracked_files

    shown = "\n".join(lines(tracked_files()))
    return (
        "# Source tree\n\nEvery source file with the first line of its docstring.\n\n"
        f"```text\n{shown}\n```\n"
    )
