"""Finds the installed packages with real weights."""

import importlib.util
import pathlib

import pytest


def package_folder(name):
    """Returns the folder of an installed package; skips the test module if there is none."""
    found = importlib.util.find_spec(name)
    if found is None:
        pytest.skip(f"{name} is not installed; `make test-real` does", allow_module_level=True)
    return pathlib.Path(found.origin).parent
