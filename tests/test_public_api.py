"""The public API matches tests/public_api.txt, so that changes to it are deliberate."""

import difflib
import importlib
import inspect

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
