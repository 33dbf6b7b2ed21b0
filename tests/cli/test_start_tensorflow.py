"""Tests that commands import TensorFlow silently, and reserve no GPU memory in advance."""

import gc
import os
import subprocess
import sys

import pytest

from tests.conftest import CHECKOUT
from tfreps._src.cli.start_tensorflow import start_tensorflow

GROWTH, LEVEL = "TF_FORCE_GPU_ALLOW_GROWTH", "TF_CPP_MIN_LOG_LEVEL"


@pytest.mark.parametrize("given, expected", [({}, ("true", "3")), ("false 1", ("false", "1"))])
def test_variables_of_the_user_are_kept(monkeypatch, given, expected):
    for name, value in zip((GROWTH, LEVEL), given.split() if given else ("", ""), strict=True):
        monkeypatch.setenv(name, value)
        if not value:
            monkeypatch.delenv(name)
    start_tensorflow()  # TensorFlow may be imported already
    assert (os.environ[GROWTH], os.environ[LEVEL]) == expected
    assert gc.isenabled()


@pytest.mark.slow
@pytest.mark.parametrize("level", [None, "0"])
def test_the_log_of_tensorflow(level):
    code = (
        "import sys, gc; from tfreps._src.cli.start_tensorflow import start_tensorflow; "
        "start_tensorflow(); frozen = gc.get_freeze_count() > 1000; "
        "print('tensorflow' in sys.modules, gc.isenabled(), frozen); "
        "print('an error', file=sys.stderr)"
    )
    given = {name: value for name, value in os.environ.items() if name != LEVEL}
    given |= {} if level is None else {LEVEL: level}
    options = {"cwd": CHECKOUT, "env": given, "capture_output": True, "text": True, "timeout": 60}
    done = subprocess.run([sys.executable, "-c", code], **options)
    assert done.stdout == "True True True\n" and done.stderr.endswith("an error\n")
    assert (done.stderr == "an error\n") == (level is None)
