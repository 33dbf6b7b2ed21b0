"""Hides tensorflow-text if this folder comes first in PYTHONPATH: `make test-without-text`."""

raise ModuleNotFoundError("No module named 'tensorflow_text'", name="tensorflow_text")
