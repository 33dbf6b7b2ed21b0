"""The registry where models and converters meet: who reads and writes a model's other formats."""

import importlib
from typing import Any, NamedTuple

_CONVERTERS = {}


class Converter(NamedTuple):
    """Two functions: `read(source, ...)` returns a model, `write(model, ...)` writes files."""

    read: Any
    write: Any


def register_converter(model: str, format: str, read, write) -> None:
    """Registers who reads and writes the models of a class in one format.

    Args:
        model: name of the class, such as `"BertEncoder"`.
        format: name of the format, such as `"pretrained"`: published weights.
        read: function that returns a model.
        write: function whose first argument is a model.
    """
    _CONVERTERS[model, format] = Converter(read, write)


def converter(model: type, format: str) -> Converter:
    """Returns the converter of a model class, also for a class derived from it.

    `tfreps.convert` registers its converters when it is imported, here and by name, so that
    models do not depend on converters.

    Args:
        model: the class.
        format: as in `register_converter`.

    Raises:
        ValueError: there is no converter.
    """
    importlib.import_module("tfreps.convert")
    for kind in model.__mro__:
        if (kind.__name__, format) in _CONVERTERS:
            return _CONVERTERS[kind.__name__, format]
    known = ", ".join(sorted(name for name, own in _CONVERTERS if own == format)) or "none"
    raise ValueError(f"{model.__name__} has no format {format!r}; models that have one: {known}.")
