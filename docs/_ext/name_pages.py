"""Writes a reference page for each public name, an overview of each package, and of the weights."""

import functools
import importlib
import inspect
import operator
import pathlib

import keras
from docstrings import separated
from public_names import documented, first_sentence, members, public_value
from written_pages import write_pages

from tfreps import presets

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
# Methods of `keras.Model` that users call, by their page.
METHODS = {
    "models/model_training_apis": "compile fit evaluate predict train_on_batch predict_on_batch",
    "models/model_saving_apis/model_saving_and_loading": "save",
    "models/model_saving_apis/weights_saving_and_loading": "save_weights load_weights",
    "models/model_saving_apis/export": "export",
    "models/model": "summary get_layer",
}
METHOD_PAGES = {method: page for page, methods in METHODS.items() for method in methods.split()}


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
    """Returns lines that name the methods which a class has from Keras, with links."""
    known = {name: operator.attrgetter(name.partition(".")[2])(keras) for name in KERAS}
    name, base = next((row for row in known.items() if issubclass(value, row[1])), (None, None))
    if base is None:
        return []
    own_members = set(members(value))
    found = [
        link(method, page)
        for method, page in METHOD_PAGES.items()
        if hasattr(base, method) and method not in own_members
    ]
    named = f": {', '.join(found)}, and others" if found else ""
    return [f"   Methods of {link(name, KERAS[name])} are inherited{named}.", ""]


def link(text, page):
    return f"`{text} <https://keras.io/api/{page}/>`__"


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
    lines += published_weights() if package == "tfreps.models" else []
    lines += ["", ".. toctree::", "   :hidden:", ""]
    lines += [f"   {entry.name}" for entry in entries]
    return "\n".join([*lines, ""])


def published_weights():
    """Returns a section with the table of published weights."""
    lines = ["", ".. _published-weights:", "", "Published weights", "-" * 17, ""]
    lines += ["`from_preset` of a class and `tfreps.load` accept these names."]
    lines += ["``tfreps presets NAME`` prints the files, checksums and sources of one. A BERT also"]
    lines += ["loads by its address on the Hugging Face Hub: see :doc:`/howto/presets`.", ""]
    lines += [".. list-table::", "   :header-rows: 1", "   :widths: 24 38 12 10 16", ""]
    lines += row("name", "model", "parameters", "weights", "license")
    for preset in presets.list_presets():
        parameters = f"{preset.parameters / 1e6:.1f} million" if preset.parameters else "unknown"
        size = f"{preset.size / 1e6:.1f} MB" if preset.size else "unknown"
        lines += row(f"``{preset.name}``", preset.description, parameters, size, preset.license)
    return lines


def row(first, *others):
    return [f"   * - {first}", *(f"     - {cell}" for cell in others)]


def index(by_package):
    """Returns the page of all packages, with a sentence for each."""
    title = "Library"
    lines = [title, "=" * len(title), ""]
    lines += ["All public names with their docstrings. ``import tfreps`` does not load TensorFlow;"]
    lines += ["each package is imported when it is first used.", ""]
    lines += [".. list-table::", "   :widths: 30 70", ""]
    for package in by_package:
        doc = inspect.getdoc(importlib.import_module(package)) or ""
        lines += row(f":doc:`{package} <{package}>`", separated(doc.split("\n", 1)[0]))
    lines += ["", ".. toctree::", "   :hidden:", ""]
    return "\n".join([*lines, *(f"   {package}" for package in by_package), ""])
