"""Writes the public API of tfreps to public_api.txt, one line per name (make api)."""

import ast
import functools
import importlib
import inspect
import pathlib
import sys
import textwrap
import types

import tfreps
from tests.docs.pages import extension

beam_stand_in = extension("beam_stand_in").beam_stand_in
TREE = pathlib.Path(tfreps.__file__).parent
FILE = pathlib.Path(__file__).with_name("public_api.txt")
HEADER = """\
# The public API: the names in `__all__` of the modules of tfreps, with their signatures, and the
# methods and properties that tfreps defines in classes. A change in this file is a change for
# users. `make api` updates it.
"""
PLAIN = (bool, int, float, str, bytes, type(None))


def public_modules():
    """Returns the names of the modules of tfreps that users import: those with a stub file."""
    names = [f"tfreps.{path.stem}" for path in TREE.glob("*.pyi")]
    return sorted({*names, "tfreps.training", "tfreps.serving"} - {"tfreps.__init__"} | {"tfreps"})


def lines():
    """Yields the lines of the file without its header. Objects with two names occur once."""
    first_names = {}
    for name in public_modules():
        module = importlib.import_module(name)
        for short in sorted(module.__all__):
            full = f"{name}.{short}"
            with beam_stand_in():  # for `tfreps.serving.Annotate`
                value = getattr(module, short)
            if inspect.isclass(value) or inspect.isfunction(value):
                first = first_names.setdefault(value, full)
                if first != full:
                    yield f"{full} = {first}"
                    continue
            yield from lines_of(full, value)


def lines_of(name, value):
    """Yields one line for a value, and one for each public member of a class."""
    if inspect.isclass(value):
        yield f"class {name}{signature_of_class(value)}"
        for member, found in sorted(members(value).items()):
            yield f"    {described(member, found, is_method=True)}"
    else:
        yield described(name, value)


def described(name, value, is_method=False):
    """Describes a function by its signature, plain data by its value, all else by its type."""
    if isinstance(value, types.ModuleType):
        return f"{name}: module"
    if isinstance(value, property | functools.cached_property):
        getter = value.fget if isinstance(value, property) else value.func
        return f"{name}: {annotations(getter).get('return', 'property')}"
    if isinstance(value, classmethod):
        return f"classmethod {name}{signature(value.__func__, is_method=True)}"
    if isinstance(value, staticmethod):
        return f"staticmethod {name}{signature(value.__func__)}"
    if callable(value) and not inspect.isclass(value):
        return f"def {name}{signature(value, is_method)}"
    if isinstance(value, PLAIN):
        return f"{name} = {value!r}"
    return f"{name}: {type(value).__name__}"


def members(kind):
    """Returns the public members that tfreps defines in a class, except fields."""
    fields = {*getattr(kind, "_fields", ()), *getattr(kind, "__dataclass_fields__", ())}
    found = {}
    for base in reversed(kind.__mro__):
        if is_own(base):
            found.update(vars(base))
    return {n: v for n, v in found.items() if not n.startswith("_") and n not in fields}


def is_own(kind):
    """Returns whether tfreps defines a class."""
    return kind.__module__.partition(".")[0] == "tfreps"


def signature_of_class(kind):
    """Returns the signature of the constructor; empty if tfreps does not define it."""
    for base in kind.__mro__:
        for name in ("__init__", "__new__"):
            if name in vars(base) and is_own(base):
                function = vars(base)[name]
                return signature(getattr(function, "__func__", function), True, fields(base))
    return ""


def signature(function, is_method=False, types_of=None):
    """Returns the parameters, without `self`, and the result, with their types as written."""
    found = inspect.signature(function)
    types_of = annotations(function) or types_of or {}
    parameters = []
    for parameter in list(found.parameters.values())[is_method:]:
        default = parameter.default
        if default is not parameter.empty:
            default = Default(default)
        annotation = types_of.get(parameter.name, parameter.empty)
        parameters.append(parameter.replace(annotation=annotation, default=default))
    result = types_of.get("return", found.empty)
    return str(found.replace(parameters=parameters, return_annotation=result))


def annotations(function):
    """Returns the types of the parameters and the result, if the function has a source."""
    try:
        node = parsed(function)
    except OSError:  # a dataclass or NamedTuple has no source
        return {}
    given = node.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    types_of = {argument.arg: argument.annotation for argument in arguments if argument}
    return {
        name: Written(kind) for name, kind in {**types_of, "return": node.returns}.items() if kind
    }


def fields(kind):
    """Returns the types of the fields of a class."""
    lines = [line for line in parsed(kind).body if isinstance(line, ast.AnnAssign)]
    return {line.target.id: Written(line.annotation) for line in lines}


def parsed(value):
    """Returns the syntax tree of a function or class."""
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


class Written:
    """Type with a `repr` as in its source, which is the same in every version of Python."""

    def __init__(self, annotation):
        is_text = isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)
        self.text = annotation.value if is_text else ast.unparse(annotation)

    def __repr__(self):
        return self.text


class Default:
    """Default value with a `repr` that is the same on every machine and has no address."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        value = self.value
        if value == sys.executable:
            return "sys.executable"
        if isinstance(value, PLAIN):
            return repr(value)
        if type(value) in (tuple, list):
            items = ", ".join(repr(Default(item)) for item in value)
            if isinstance(value, list):
                return f"[{items}]"
            return f"({items},)" if len(value) == 1 else f"({items})"
        if inspect.isclass(value) or inspect.isfunction(value):
            return value.__name__
        return "..."


def text():
    """Returns the whole content of the file."""
    return HEADER + "".join(f"{line}\n" for line in lines())


def main():
    FILE.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
