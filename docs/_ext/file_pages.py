"""Writes pages from files of the checkout: results, changes, security, citation, the file tree."""

import pathlib
import re
import shutil

import yaml
from written_pages import write_pages

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = "reference/files"
PAGES = {
    "training/RESULTS.md": "results.md",
    "benchmarks/RESULTS.md": "speed.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
}


def setup(app):
    app.connect("builder-inited", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_all(app):
    pages = {page: on_site(read(name)) for name, page in PAGES.items()}
    pages |= {
        "tree.md": tree(),
        "citation.txt": citation(read("CITATION.cff")),
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


def citation(text):
    """Returns BibTeX of the software and the papers in a CITATION.cff, as a block of Markdown."""
    software = yaml.safe_load(text)
    year = str(software["date-released"])[:4]
    entries = [bibtex("software", {**software, "year": year, "url": software["repository-code"]})]
    entries += [bibtex("inproceedings", paper) for paper in software["references"]]
    return "```bibtex\n" + "\n\n".join(entries) + "\n```\n"


def bibtex(kind, entry):
    """Returns one entry of BibTeX."""
    names = [
        author.get("name") or f"{author['family-names']}, {author['given-names']}"
        for author in entry["authors"]
    ]
    authors = " and ".join(f"{{{name}}}" if "," not in name else name for name in names)
    fields = {"title": f"{{{entry['title']}}}", "author": authors, "year": entry["year"]}
    fields |= {"booktitle": entry.get("collection-title"), "version": entry.get("version")}
    fields["url"] = entry.get("url")
    key = re.match(r"\w+", entry["authors"][0].get("family-names") or entry["title"])[0].lower()
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key}{entry['year']},", *lines, "}"])


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
