"""Replaces Apache Beam where it is not installed, so that classes based on it have pages."""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

BEAM = "apache_beam"
PACKAGES = BEAM, "pyarrow"  # Beam requires PyArrow


class _Names(type):
    def __getattr__(cls, name):
        if cls is not StandIn:
            raise AttributeError(name)
        return StandIn


class StandIn(metaclass=_Names):
    """Replacement for any name of a package: a base class, a generic type or a function."""

    def __init__(self, *args):
        pass

    def __class_getitem__(cls, item):
        return cls


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder and loader of modules whose names are all `StandIn`, for packages not installed."""

    def __init__(self):
        self.found = []

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PACKAGES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def exec_module(self, module):
        self.found.append(module.__name__)
        module.__getattr__ = lambda name: StandIn


@contextlib.contextmanager
def beam_stand_in():
    """Makes `apache_beam` importable in a context, even if it is not installed.

    Modules of tfreps that are imported in the context keep the replacements, so they can be
    documented, but not used.
    """
    if importlib.util.find_spec(BEAM) is not None:
        yield
        return
    finder = _Finder()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in finder.found:
            del sys.modules[name]
