"""Registry of the converters that read and write models in other formats."""

import importlib
from typing import Any, NamedTuple

_CONVERTERS = {}
# Maps each format to the package that registers its converters when it is imported.
_PACKAGES = {
    "pretrained": "tfreps.convert",
    "source": "tfreps.presets",
    "preset": "tfreps.presets",
    "hub": "tfreps.presets",
}


class Converter(NamedTuple):
    """Pair of functions: `read(...)` returns a model, and `write(model, ...)` stores a model."""

    read: Any
    write: Any


def register_converter(model: str, format: str, read, write) -> None:
    """Registers the functions that read and write the models of a class in one format.

    Args:
        model: str. Name of the model class, such as `"BertEncoder"`.
        format: str. Name of the format, such as `"pretrained"` for published weights at a local
            path, or `"source"` for published weights that are downloaded or extracted first.
        read: function that takes a path as its first argument and returns a model. For
            `"source"`, `"preset"` and `"hub"`, its first two arguments are the class and the
            source.
        write: function that takes a model as its first argument and writes or uploads it.
    """
    _CONVERTERS[model, format] = Converter(read, write)


def converter(model: type, format: str) -> Converter:
    """Returns the converter of a model class or of its nearest base class that has one.

    The package of the format registers its converters when it is imported. This function imports
    it, so that the modules of the models do not depend on converters.

    Args:
        model: The model class.
        format: str. Name of the format, such as `"pretrained"`.

    Returns:
        `Converter`.

    Raises:
        ValueError: If neither the class nor a base class has a converter of this format.
    """
    if format in _PACKAGES:
        importlib.import_module(_PACKAGES[format])
    for kind in model.__mro__:
        if (kind.__name__, format) in _CONVERTERS:
            return _CONVERTERS[kind.__name__, format]
    known = ", ".join(sorted(name for name, own in _CONVERTERS if own == format)) or "none"
    raise ValueError(
        f"{model.__name__} does not support the format {format!r}; models that support it: {known}."
    )
