"""Creates, opens, continues and publishes the run folders of training programs."""

import importlib

_HOMES = {
    "RunFolder": "run_folder",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
