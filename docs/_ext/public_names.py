"""Lists the public names of tfreps, which are in `__all__` of its packages, and their members."""

import functools
import importlib
import inspect
import pathlib
from typing import NamedTuple

from beam_stand_in import beam_stand_in

import tfreps

# Methods that Keras calls and that every layer or model has. They are not repeated on each page.
INHERITED = {
    "build", "build_from_config", "compile_from_config", "compute_mask",
    "compute_output_shape", "compute_output_spec", "from_config", "get_config", "compute_loss",
    "compute_metrics", "train_step", "test_step", "predict_step", "call",
}  # fmt: skip


class Name(NamedTuple):
    """Public name: its full name, package, kind (class, function or data) and members."""

    name: str
    package: str
    kind: str
    members: tuple = ()


def packages():
    """Returns the names of the modules of `tfreps` that list public names in a stub file."""
    stubs = pathlib.Path(tfreps.__file__).parent.glob("*.pyi")
    names = {f"tfreps.{path.stem}" for path in stubs} - {"tfreps.__init__"}
    return sorted({*names, "tfreps.training", "tfreps.serving"})


@functools.cache
def documented():
    """Returns the `Name` of everything that has a page, in the order of the packages.

    A name that two packages list is described once: in the shorter, which users import.
    """
    found = [Name(f"tfreps.{name}", "tfreps", "function") for name in ("choose_precision", "load")]
    seen = set()
    for package in sorted(packages(), key=lambda name: (name.count("."), name)):
        module = importlib.import_module(package)
        for short in sorted(module.__all__, key=str.lower):
            name = f"{package}.{short}"
            value = public_value(name)
            if inspect.ismodule(value):
                continue
            if inspect.isclass(value) or inspect.isfunction(value):
                if id(value) in seen:
                    continue
                seen.add(id(value))
            if inspect.isclass(value):
                found.append(Name(name, package, "class", tuple(members(value))))
            else:
                kind = "function" if inspect.isroutine(value) else "data"
                found.append(Name(name, package, kind))
    return found


def public_value(name):
    """Returns the object with a full public name; Apache Beam need not be installed."""
    package, _, short = name.rpartition(".")
    with beam_stand_in():  # for `tfreps.serving.Annotate`
        return getattr(importlib.import_module(package), short)


def members(kind):
    """Returns the names of documented methods and properties that tfreps defines in a class."""
    fields = {*getattr(kind, "_fields", ()), *getattr(kind, "__dataclass_fields__", ())}
    for name in dict.fromkeys(name for base in kind.__mro__ if own(base) for name in vars(base)):
        if name.startswith("_") or name in fields or name in INHERITED:
            continue
        value = inspect.getattr_static(kind, name)
        value = getattr(value, "__func__", value)
        if getattr(value, "__doc__", None) and not isinstance(value, str | int | tuple | dict):
            yield name


def own(base):
    return base.__module__.partition(".")[0] == "tfreps"


def first_sentence(name):
    """Returns the first paragraph of a docstring as one line."""
    text = inspect.getdoc(public_value(name)) or ""
    return " ".join(text.split("\n\n", 1)[0].split())
