"""Programs let TensorFlow allocate GPU memory as it needs it, unless the user decides otherwise."""

import os
import subprocess
import sys
import types

import pytest

from tests.conftest import CHECKOUT
from tfreps import __main__ as command
from tfreps.cli.gpu_memory import GROWTH, allow_memory_growth


@pytest.mark.parametrize("given, expected", [(None, "true"), ("false", "false"), ("true", "true")])
def test_the_variable_of_the_user_is_kept(monkeypatch, given, expected):
    set_variable(monkeypatch, given)
    allow_memory_growth()
    assert os.environ[GROWTH] == expected


@pytest.mark.parametrize("given, expected", [(None, "true"), ("false", "false")])
def test_it_is_set_before_tensorflow_is_imported(monkeypatch, given, expected):
    seen = []

    def import_module(name):
        seen.append((name, os.environ.get(GROWTH)))
        return types.SimpleNamespace(
            config=types.SimpleNamespace(list_physical_devices=lambda: []), main=lambda argv: 0
        )

    set_variable(monkeypatch, given)
    monkeypatch.setattr(command.importlib, "import_module", import_module)
    assert command.main(["embed", "a"]) == 0
    assert seen == [("tensorflow", expected), ("tfreps.training.embed", expected)]


def test_programs_without_tensorflow_do_not_need_it(monkeypatch):
    set_variable(monkeypatch, None)
    program = types.SimpleNamespace(main=lambda argv: 0)
    monkeypatch.setattr(command, "import_program", lambda _: program)
    assert command.main(["build-vocabulary", "a"]) == 0
    assert GROWTH not in os.environ


def test_it_does_not_import_tensorflow():
    code = (
        "import sys; from tfreps.cli.gpu_memory import allow_memory_growth; "
        "allow_memory_growth(); print('tensorflow' in sys.modules)"
    )
    options = {"cwd": CHECKOUT, "capture_output": True, "text": True, "timeout": 60}
    assert subprocess.run([sys.executable, "-c", code], **options).stdout == "False\n"


def set_variable(monkeypatch, value):
    """Sets the variable for one test; it is restored afterwards, whatever the test does."""
    monkeypatch.setenv(GROWTH, value or "")
    if value is None:
        monkeypatch.delenv(GROWTH)
