"""pytorch_model.bin in place of safetensors: the same numbers, in both forms of `torch.save`."""

import shutil

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file

import tfreps
from tests import tiny_bert
from tests.convert.bert_folders import USUAL, check, hugging_face
from tests.convert.sentence_transformers_fixture import FOLDER, TEXTS
from tests.convert.torch_bytes import file_of, state_dict, zip_of
from tfreps._src.convert.array_files import INDEX
from tfreps._src.convert.array_folders import TORCH
from tfreps.models import BertEncoder, BertPretrainer

EARLY = {
    **USUAL,
    "style": "early",
}  # gamma and beta, the buffer of positions, and tied arrays twice


def in_pytorch(folder, write=zip_of):
    """Replaces the safetensors files in a folder and its subfolders by files of PyTorch."""
    for path in folder.rglob("*.safetensors"):
        name = path.name.replace("model", "pytorch_model").replace(".safetensors", ".bin")
        path.with_name(name).write_bytes(state_dict(load_file(path), write))
        path.unlink()
    if (folder / INDEX).exists():
        text = (folder / INDEX).read_text().replace('"model-', '"pytorch_model-')
        (folder / f"{TORCH}.index.json").write_text(text.replace(".safetensors", ".bin"))
        (folder / INDEX).unlink()
    return folder


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "write, case",
    [
        (zip_of, EARLY),
        (file_of, EARLY),
        (zip_of, {**USUAL, "prefix": "", "kind": "BertModel"}),
        (zip_of, {**USUAL, "files": "sharded"}),
    ],
)
def test_the_same_numbers_as_transformers(tmp_path, write, case):
    folder = in_pytorch(hugging_face(tmp_path, case), write)
    assert not list(folder.glob("*.safetensors"))
    assert "layer_outputs" in check(BertEncoder.from_preset(folder), case)
    if case["kind"] == "BertForPreTraining":
        assert "token_logits" in check(BertPretrainer.from_pretrained(folder), case)
    if case["files"] == "single":
        check(BertEncoder.from_pretrained(folder / TORCH), case)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_numbers_of_16_bits(tmp_path, kind):
    dtype = ml_dtypes.bfloat16 if kind == "bfloat16" else np.dtype(kind)
    arrays = load_file(hugging_face(tmp_path) / "model.safetensors")
    arrays = {name: array.astype(dtype) for name, array in arrays.items()}
    (tmp_path / TORCH).write_bytes(state_dict(arrays, zip_of))
    (tmp_path / "model.safetensors").unlink()
    words = BertEncoder.from_pretrained(tmp_path).get_layer("token_embedding").weights[0]
    expected = arrays["bert.embeddings.word_embeddings.weight"].astype("float32")
    np.testing.assert_array_equal(np.asarray(words)[-len(expected) :], expected)


def test_safetensors_come_first(tmp_path):
    (hugging_face(tmp_path) / TORCH).write_bytes(b"damaged")
    check(BertEncoder.from_pretrained(tmp_path), USUAL)


@pytest.mark.slow
def test_raw_texts(tmp_path):
    tiny_bert.write_checkpoint(tmp_path, tiny_bert.pieces("the", "dog"), pooler=False)
    expected = tfreps.load(tmp_path)("the dog").vectors
    np.testing.assert_array_equal(tfreps.load(in_pytorch(tmp_path))("the dog").vectors, expected)


def test_a_repository_on_the_hub(hub, tmp_path):
    folder = in_pytorch(hugging_face(tmp_path / "bert"))
    hub.add("a/bert", {path.name: path.read_bytes() for path in folder.iterdir()})
    check(BertEncoder.from_preset("hf://a/bert"), USUAL)


@pytest.mark.slow
def test_sentence_transformers(tmp_path):
    expected = tfreps.load(FOLDER / "model")(TEXTS).vectors
    folder = in_pytorch(shutil.copytree(FOLDER / "model", tmp_path / "model"))
    assert len(list(folder.rglob(TORCH))) == 3
    np.testing.assert_array_equal(tfreps.load(folder)(TEXTS).vectors, expected)
