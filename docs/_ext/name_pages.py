"""Writes a reference page for each public name and an overview for each package."""

import functools
import importlib
import inspect
import pathlib

from docstrings import separated
from public_names import documented, first_sentence
from written_pages import write_pages

FOLDER = "reference/api"


def setup(app):
    app.connect("builder-inited", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_all(app):
    pages = {f"{entry.name}.rst": page(entry) for entry in documented()}
    by_package = {}
    for entry in documented():
        by_package.setdefault(entry.package, []).append(entry)
    for package, entries in by_package.items():
        pages[f"{package}.rst"] = overview(package, entries)
    pages["index.rst"] = index(by_package)
    write_pages(pathlib.Path(app.srcdir, FOLDER), pages)


def page(entry):
    """Returns the page of one name."""
    short = entry.name.rpartition(".")[2]
    lines = [short, "=" * len(short), "", f".. currentmodule:: {entry.package}", ""]
    if entry.kind == "class":
        lines += [f".. autoclass:: {entry.name}", ""]
        value = getattr(importlib.import_module(entry.package), short)
        for member in entry.members:
            found = inspect.getattr_static(value, member)
            is_property = isinstance(found, property | functools.cached_property)
            directive = "autoproperty" if is_property else "automethod"
            lines += [f"   .. {directive}:: {entry.name}.{member}", ""]
    elif entry.kind == "function":
        lines += [f".. autofunction:: {entry.name}", ""]
    else:
        value = getattr(importlib.import_module(entry.package), short)
        lines += [f".. py:data:: {short}", f"   :value: {value!r}", ""]
    return "\n".join(lines)


def overview(package, entries):
    """Returns the page of a package: its docstring and a table of its names."""
    doc = inspect.getdoc(importlib.import_module(package)) or ""
    head = doc.split("\n", 1)[0]
    lines = [package, "=" * len(package), "", separated(head), ""]
    lines += [".. list-table::", "   :class: names", "   :widths: 30 70", ""]
    for entry in entries:
        about = separated(first_sentence(entry.name)) if entry.kind != "data" else "Constant."
        lines += [f"   * - :py:obj:`{entry.name.rpartition('.')[2]} <{entry.name}>`"]
        lines += [f"     - {about}"]
    lines += ["", ".. toctree::", "   :hidden:", ""]
    lines += [f"   {entry.name}" for entry in entries]
    return "\n".join([*lines, ""])


def index(by_package):
    """Returns the page of all packages."""
    title = "Library"
    lines = [title, "=" * len(title), ""]
    lines += ["All public names with their docstrings. ``import tfreps`` does not load TensorFlow;"]
    lines += ["each package is imported when it is first used.", ""]
    lines += [".. toctree::", "   :maxdepth: 1", ""]
    return "\n".join([*lines, *(f"   {package}" for package in by_package), ""])
