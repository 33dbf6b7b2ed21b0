"""Writes a reference page for each public name and an overview for each package."""

import functools
import importlib
import inspect
import operator
import pathlib

import keras
from docstrings import separated
from public_names import documented, first_sentence, public_value
from written_pages import write_pages

FOLDER = "reference/api"
# Classes of Keras that users subclass, the narrower first, and their documentation.
KERAS = {
    "keras.Model": "models/model",
    "keras.Layer": "layers/base_layer",
    "keras.callbacks.Callback": "callbacks/base_callback",
    "keras.metrics.Metric": "metrics/base_metric",
    "keras.optimizers.Optimizer": "optimizers",
    "keras.optimizers.schedules.LearningRateSchedule": "optimizers/learning_rate_schedules",
}


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
        value = public_value(entry.name)
        for member in entry.members:
            found = inspect.getattr_static(value, member)
            is_property = isinstance(found, property | functools.cached_property)
            directive = "autoproperty" if is_property else "automethod"
            lines += [f"   .. {directive}:: {entry.name}.{member}", ""]
        lines += inherited(value)
    elif entry.kind == "function":
        lines += [f".. autofunction:: {entry.name}", ""]
    else:
        value = public_value(entry.name)
        lines += [f".. py:data:: {short}", f"   :value: {value!r}", ""]
    return "\n".join(lines)


def inherited(value):
    """Returns lines that name the methods which a class has from Keras, with a link."""
    known = {name: operator.attrgetter(name.partition(".")[2])(keras) for name in KERAS}
    name, base = next((row for row in known.items() if issubclass(value, row[1])), (None, None))
    if base is None:
        return []
    found = {method: getattr(base, method) for method in dir(base) if not method.startswith("_")}
    methods = [
        f"``{method}``"
        for method, function in found.items()
        if callable(function) and getattr(value, method) == function
    ]
    link = f"`{name} <https://keras.io/api/{KERAS[name]}/>`__"
    return [f"   Inherited from {link}: {', '.join(methods)}.", ""]


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
