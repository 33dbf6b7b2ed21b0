"""The examples in docstrings run."""

import doctest
import importlib

import pytest

from tests.conftest import CHECKOUT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((CHECKOUT / "tfreps").rglob("*.py"))
]
# Their examples export models, as quicker tests of the same code do.
SLOW = "tfreps.export.bilm_signatures", "tfreps.models.whole_model"
MODULES = [pytest.param(m, marks=pytest.mark.slow if m in SLOW else ()) for m in MODULES]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name, tmp_path, monkeypatch):
    """In a folder of their own."""
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder().find(module):
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
