"""An unsupported Keras version or backend raises an error of one clear sentence."""

import os
import subprocess
import sys

import keras
import pytest

from tests.conftest import CHECKOUT
from tfreps._src.backend import require_tensorflow_backend

CALL = "from tfreps._src.backend import require_tensorflow_backend; require_tensorflow_backend()"


def last_line(code, **environment):
    """Runs the code in a new Python process and returns its last line on stderr."""
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=CHECKOUT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return process.stderr.strip().splitlines()[-1] if process.returncode else ""


@pytest.mark.parametrize("backend", ["jax", "torch", "numpy"])
def test_another_backend(backend):
    line = last_line(CALL, KERAS_BACKEND=backend)
    assert line.startswith("ImportError: tfreps needs Keras on the TensorFlow backend")
    assert repr(backend) in line and "KERAS_BACKEND=tensorflow" in line


def test_another_backend_when_keras_is_imported_already(monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(ImportError, match="Keras is set to 'jax'"):
        require_tensorflow_backend()


@pytest.mark.parametrize("version", ["2.15.0", "3.11.3"])
def test_an_older_keras(monkeypatch, version):
    monkeypatch.setattr(keras, "__version__", version)
    with pytest.raises(ImportError, match=f"3.12 or newer; Keras {version} is installed"):
        require_tensorflow_backend()


def test_legacy_keras():
    line = last_line(CALL, TF_USE_LEGACY_KERAS="1")
    assert line.startswith("ImportError: tfreps needs Keras 3") and "TF_USE_LEGACY_KERAS" in line


@pytest.mark.parametrize("package", ["layers", "models"])
def test_the_packages_call_it(package):
    line = last_line(f"import tfreps.{package}", KERAS_BACKEND="jax")
    assert "tfreps needs Keras on the TensorFlow backend" in line
