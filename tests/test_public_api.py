"""The public API matches tests/public_api.txt, so that changes to it are deliberate."""

import dataclasses
import difflib
import importlib
import inspect
import sys
from typing import NamedTuple

import pytest

from tests import public_api
from tests.conftest import CHECKOUT

CHANGED = (
    "The public API has changed. If that is intended, update tests/public_api.txt with "
    "`make api` (or `python -m tests.public_api`):\n"
)


def test_the_public_api_is_what_the_file_says():
    pytest.importorskip("tensorflow_text", reason="the file lists subclasses of its classes")
    before = public_api.FILE.read_text(encoding="utf-8").splitlines()
    after = public_api.text().splitlines()
    changes = list(difflib.unified_diff(before, after, "public_api.txt", "now", lineterm="", n=1))
    if changes:
        pytest.fail(CHANGED + "\n".join(changes), pytrace=False)


def test_every_module_says_what_is_public():
    for name in public_api.public_modules():
        module = importlib.import_module(name)
        assert len(set(module.__all__)) == len(module.__all__), name
        names = {*module.__all__} - {"Annotate"}  # requires Apache Beam
        assert [n for n in names if n.startswith("_") or not hasattr(module, n)] == []
        seen = {n for n in dir(module) if not n.startswith("_")}
        hidden = {n for n, value in vars(module).items() if inspect.ismodule(value)}
        assert seen - hidden <= {*module.__all__, "TYPE_CHECKING"}, name


def test_no_name_is_that_of_a_module():
    """`lazy_loader` stores the names of `tfreps.tags`, for example, in `tfreps`, too."""
    modules = {name.removeprefix("tfreps.") for name in public_api.public_modules()}
    for name in public_api.public_modules()[1:]:
        assert not modules & {*importlib.import_module(name).__all__}, name


def test_the_file_depends_on_no_machine():
    text = public_api.FILE.read_text(encoding="utf-8")
    assert str(CHECKOUT) not in text and " at 0x" not in text
    assert "tfreps.layers.CRF(num_tags: int, allowed_transitions: " in text


NOTHING = object()


class Base:
    def inherited(self, y=2):
        """A method."""


class Example(Base):
    SIZE = 3

    def __init__(self, a, *, b=(1,), c=len, d=sys.executable, e=NOTHING, **kwargs):
        pass

    def method(self, x: int = 1) -> int:
        """A method."""

    @property
    def name(self) -> "str | None":
        """A property."""

    @classmethod
    def made(cls, x=None):
        """A class method."""

    @staticmethod
    def plain(x=[1.5]):  # noqa: B006
        """A static method."""

    def _hidden(self):
        pass


class Row(NamedTuple):
    text: str
    number: int = 0

    def shown(self):
        """A method."""


@dataclasses.dataclass
class Options:
    size: int = 3
    names: list = dataclasses.field(default_factory=list)


def test_lines_of_a_class(monkeypatch):
    monkeypatch.setattr(public_api, "is_own", lambda kind: kind.__module__ == __name__)
    assert list(public_api.lines_of("Example", Example)) == [
        "class Example(a, *, b=(1,), c=..., d=sys.executable, e=..., **kwargs)",
        "    SIZE = 3",
        "    def inherited(y=2)",
        "    classmethod made(x=None)",
        "    def method(x: int = 1) -> int",
        "    name: str | None",
        "    staticmethod plain(x=[1.5])",
    ]
    assert list(public_api.lines_of("Row", Row)) == [
        "class Row(text: str, number: int = 0)",
        "    def shown()",
    ]
    assert list(public_api.lines_of("Options", Options)) == [
        "class Options(size: int = 3, names: list = ...)"
    ]


def test_lines_of_other_values():
    assert list(public_api.lines_of("public_api", public_api)) == ["public_api: module"]
    assert list(public_api.lines_of("a.N", 7)) == ["a.N = 7"]
    assert list(public_api.lines_of("a.N", (7,))) == ["a.N: tuple"]
    assert list(public_api.lines_of("a.f", public_api.signature)) == [
        "def a.f(function, is_method=False, types_of=None)"
    ]
