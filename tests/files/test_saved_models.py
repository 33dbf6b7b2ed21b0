"""SavedModels whose operations come from TensorFlow Text."""

import pytest
import tensorflow as tf

from tfreps._src.files import saved_models
from tfreps._src.files.saved_models import load_saved_model


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("kind", [RuntimeError, tf.errors.NotFoundError])
def test_operations_that_tensorflow_does_not_know(monkeypatch, there, kind):
    """tensorflow-text is imported for them if it is installed; other errors are unchanged."""
    calls, imported = [], []

    def load(folder, tags):
        calls.append((folder, tags))
        if not imported:
            message = "Op type not registered 'FastX' in binary"
            raise kind(message) if kind is RuntimeError else kind(None, None, message)
        return "a model"

    def import_module(name):
        if not there:
            raise ImportError(f"No module named {name!r}")
        imported.append(name)

    monkeypatch.setattr(tf.saved_model, "load", load)
    monkeypatch.setattr(saved_models.importlib, "import_module", import_module)
    if there:
        assert load_saved_model("folder", ["serve"]) == "a model"
        assert imported == ["tensorflow_text"] and calls == [("folder", ["serve"])] * 2
    else:
        with pytest.raises(
            ValueError, match="in folder has.*No module.*pip install tensorflow-text"
        ):
            load_saved_model("folder")
    monkeypatch.setattr(tf.saved_model, "load", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        load_saved_model("folder")
