"""Models of sentence-transformers give equal outputs from the Hub, from gs:// and from the disk."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

import tfreps
from tests.convert.sentence_transformers_fixture import FOLDER, TEXTS
from tests.convert.test_pytorch_model import in_pytorch
from tfreps._src.presets.hub_repositories import download_repository
from tfreps._src.presets.module_folders import module_folders
from tfreps.inference import TextEmbedder
from tfreps.presets import cached_path

OF_TRANSFORMER = "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"


def older(folder):
    """Moves the BERT to a folder of its own and stores all weights as PyTorch did."""
    inner = folder / "0_Transformer"
    inner.mkdir()
    for name in (*OF_TRANSFORMER, "sentence_bert_config.json"):
        (folder / name).rename(inner / name)
    (inner / "sentence_bert_config.json").write_text('{"max_seq_length": 7}')
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    in_pytorch(folder)


def files_of(folder):
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def to_ram(files):
    if tf.io.gfile.exists("ram://models/embedder"):
        tf.io.gfile.rmtree("ram://models/embedder")
    for name, content in files.items():
        path = f"ram://models/embedder/{name}"
        tf.io.gfile.makedirs(path.rpartition("/")[0])
        with tf.io.gfile.GFile(path, "wb") as file:
            file.write(content)
    return "ram://models/embedder"


def remote(hub, folder, source):
    """Puts the files of a folder, and some that are not read, at a source and returns it."""
    files = files_of(folder) | {"2_Dense/modeling.py": b"raise SystemExit", "onnx/model.onnx": b"o"}
    inner = "inner/" if source.endswith("inner") else ""
    hub.add("me/embedder", {inner + name: content for name, content in files.items()})
    return to_ram(files) if source == "ram" else source


@pytest.fixture(params=[older, lambda folder: None])
def folder(tmp_path, request):
    folder = tmp_path / "local"
    shutil.copytree(FOLDER / "model", folder)
    request.param(folder)
    return folder


@pytest.mark.parametrize("source", ["hf://me/embedder", "hf://me/embedder/inner", "ram"])
def test_the_files_of_all_modules_come(hub, folder, source):
    found = files_of(cached_path(remote(hub, folder, source)))
    found.pop("2_Dense/modeling.py", None)  # TensorFlow's file systems copy the whole folder
    assert found == files_of(folder)
    assert not any(path.endswith((".py", ".onnx")) for path in hub.downloads())


@pytest.mark.slow
@pytest.mark.parametrize("source", ["hf://me/embedder", "ram"])
def test_a_remote_embedder_is_the_local_one(hub, folder, source):
    expected, found = tfreps.load(folder), tfreps.load(remote(hub, folder, source))
    assert type(found) is type(expected) is TextEmbedder
    assert (found.prompts, found.default_prompt) == (expected.prompts, "query")
    assert found.max_length == expected.max_length
    np.testing.assert_array_equal(found(TEXTS).vectors, expected(TEXTS).vectors)


def test_further_files_are_of_the_same_commit(hub):
    """The branch moves after the first files were downloaded."""
    old = hub.add("me/embedder", files_of(FOLDER / "model"))
    resolve = hub.commit_of

    def moving(name, revision):
        hub.add("me/embedder", {"config.json": b"{}"}) if revision == "main" else None
        return old if revision == "main" else resolve(name, revision)

    hub.commit_of = moving
    folder = download_repository("hf://me/embedder")
    assert folder.name == old and (folder / "1_Pooling" / "config.json").is_file()


@pytest.mark.parametrize(
    "content, found",
    [
        ('[{"path": "", "type": "a.Transformer"}, {"path": "1_P", "type": "Pooling"}]',
         {"": "Transformer", "1_P": "Pooling"}),
        ('[{"path": "../x"}, {"path": "/x"}, {"path": "a/../../x"}, 1]', {}),
        ('{"path": "x"}', {}),
        (b"\xff", {}),
        ("[" * 100_000, {}),
    ],
)  # fmt: skip
def test_folders_of_modules(content, found):
    assert module_folders(content) == found
