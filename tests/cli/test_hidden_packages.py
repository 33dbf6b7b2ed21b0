"""Tests that packages are hidden only inside the context."""

import importlib
import subprocess
import sys

import pytest

from tfreps.cli.hidden_packages import KERAS, OF_KERAS, hidden_packages


def test_hidden_inside_and_found_afterwards(monkeypatch):
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    with hidden_packages("wave", "json"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("wave")
        assert importlib.import_module("json") is sys.modules["json"]  # imported before
    assert "wave" not in sys.modules
    assert importlib.import_module("wave").__name__ == "wave"


def test_after_an_error(monkeypatch):
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    with pytest.raises(ValueError, match="an error"):
        with hidden_packages("wave"):
            raise ValueError("an error")
    assert "wave" not in sys.modules


@pytest.mark.slow
@pytest.mark.parametrize("names, has_keras", [(KERAS, False), (OF_KERAS, True)])
def test_tensorflow_goes_without_them(names, has_keras):
    code = (
        "import sys; from tfreps.cli.hidden_packages import hidden_packages\n"
        f"with hidden_packages(*{names}): import tensorflow as tf\n"
        "assert tf.constant(1).numpy() == 1\n"
        "assert not {'sklearn', 'matplotlib', 'pandas', 'scipy'} & set(sys.modules)\n"
        f"assert ('keras' in sys.modules) == {has_keras}\n"
        "import keras; assert keras.ops.add(1, 1) == 2"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
