"""Exports for other engines are kept next to their models, until the models change."""

import json
import os
import site
import types

import pytest

from tfreps._src import loading
from tfreps._src.export import opening
from tfreps._src.export.portable import portable_export
from tfreps._src.export.portable.engine_cache import cached_export, find_cached


@pytest.fixture
def written(monkeypatch):
    """List of the folders to which a function in the place of the export wrote."""
    calls = []

    def write(signatures, base, format):
        folder = base / "1"
        folder.mkdir(parents=True)
        (folder / "model.json").write_text(json.dumps({"format": format, "of": signatures}))
        calls.append(folder)
        return types.SimpleNamespace(folder=folder)

    monkeypatch.setattr(opening, "open_for_export", lambda source, **options: str(options))
    monkeypatch.setattr(portable_export, "write_portable_export", write)
    return calls


@pytest.fixture
def model(tmp_path):
    (tmp_path / "run" / "1_Pooling").mkdir(parents=True)
    for name in "model.keras", "results.json", "1_Pooling/config.json":
        (tmp_path / "run" / name).write_text(name)
    return tmp_path / "run"


def test_a_model_is_exported_once_for_each_format(written, model):
    assert find_cached(model, "openvino", {}) is None
    first = cached_export(model, "openvino", {})
    assert first.parent.parent == model / "engines" and first.name == "1"
    assert cached_export(model, "onnxruntime", {}) == first == find_cached(model, "openvino", {})
    other = cached_export(model, "litert", {})
    assert written == [first, other]
    assert json.loads((other / "model.json").read_text()) == {"format": "litert", "of": "{}"}


def test_results_do_not_change_an_export_and_weights_do(written, model):
    first = cached_export(model, "openvino", {})
    (model / "results.json").write_text("evaluated again")
    assert cached_export(model, "openvino", {}) == first
    for name in "model.keras", "1_Pooling/config.json":
        (model / name).write_text("trained again")
        second = cached_export(model, "openvino", {})
        assert second != first and not first.exists()
        first = second
    assert len(written) == 3 and [*(model / "engines").iterdir()] == [first.parent]


def test_options_change_an_export(written, model, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("a\n")
    cases = [{}, {"scheme": "bio"}, {"scheme": "none"}, {"vocabulary": words}]
    folders = [cached_export(model, "openvino", case) for case in cases]
    words.write_text("a\nb\n")
    folders.append(cached_export(model, "openvino", cases[-1]))
    assert len(set(folders)) == 5 == len(written)
    assert json.loads((folders[-1] / "model.json").read_text())["of"] == str(cases[-1])


def test_the_base_model_of_an_adapter_changes_an_export(written, model, tmp_path):
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    config = {"base_model_name_or_path": str(model)}
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    (adapter / "adapter_model.safetensors").touch()
    first = cached_export(adapter, "openvino", {})
    assert cached_export(adapter, "openvino", {}) == first == written[0]
    (model / "model.keras").write_text("trained again")
    assert cached_export(adapter, "openvino", {}) == written[1] != first


def test_a_file_has_its_export_in_its_folder(written, model):
    found = cached_export(model / "model.keras", "litert", {})
    assert found.parent.parent == model / "engines"
    assert find_cached("hf://owner/name", "litert", {}) is None


def test_a_package_has_its_export_in_the_cache(written, model, monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path)])
    found = cached_export(model, "litert", {})
    assert found.parent.parent == tmp_path / "keras" / "tfreps" / "engines" / "run"
    (model / "__pycache__").mkdir()
    assert find_cached(model, "litert", {}) == found and not (model / "engines").exists()


def test_a_folder_that_cannot_be_written(monkeypatch, written, model):
    def write(*_):
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(portable_export, "write_portable_export", write)
    message = "`engine='litert'` cannot be written to .*engines.*: Permission denied. Export the mo"
    with pytest.raises(ValueError, match=message):
        cached_export(model, "litert", {})


def test_commands_need_tensorflow_until_the_export_exists(written, model):
    pytest.importorskip("onnxruntime")
    assert loading.needs_tensorflow(model) and loading.needs_tensorflow(model, "onnxruntime")
    cached_export(model, "onnxruntime", {})
    assert loading.needs_tensorflow(model) and not loading.needs_tensorflow(model, "onnxruntime")
