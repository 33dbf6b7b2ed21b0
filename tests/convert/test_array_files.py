"""safetensors: damaged and foreign files, several files with an index, and atomic writing."""

import json
import os
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.convert.bert_folders import hugging_face
from tfreps._src.convert.array_files import INDEX, joined, open_safetensors, write_folder
from tfreps._src.convert.array_folders import open_folder
from tfreps.models import BertEncoder

TERABYTES = {"a": {"dtype": "F32", "shape": [1 << 40, 768], "data_offsets": [0, 3 << 50]}}
OVERFLOW = {"a": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 8]}}
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 438\n"


def with_header(header, length=None):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + b"12345678"


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "download may be incomplete"),
        (b"\x80\x02}q\x00.", "the file cannot be read"),
        (POINTER, "is a git-lfs pointer, not the file itself: run `git lfs pull`"),
        (with_header(TERABYTES), "download may be incomplete"),
        (with_header(OVERFLOW), "download may be incomplete"),
        (with_header({}, length=1 << 50), "header too large"),
        (struct.pack("<Q", 4) + b"{nop", "invalid JSON"),
    ],
)
def test_files_that_are_none(tmp_path, content, message):
    path = hugging_face(tmp_path) / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"model.safetensors.*{message}"):
        BertEncoder.from_pretrained(tmp_path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_half_a_download(tmp_path, share):
    path = hugging_face(tmp_path) / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="download may be incomplete: compare the size"):
        BertEncoder.from_pretrained(tmp_path)


def index(folder, change):
    path = folder / INDEX
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda c: c.pop("weight_map"), "`weight_map` must be a JSON object"),
        (
            lambda c: c["weight_map"].update(a="../x.safetensors"),
            "names of files in the same folder",
        ),
        (lambda c: c["weight_map"].update(a="x.safetensors"), "the file does not exist"),
        (
            lambda c: c["weight_map"].update(a="model-00001-of-00002.safetensors"),
            "the arrays a are listed in the index, but no file contains them",
        ),
        (
            lambda c: c["weight_map"].pop("cls.predictions.bias"),
            "the arrays cls.predictions.bias are in the files of the index, but the index",
        ),
    ],
)
def test_an_index_that_does_not_fit_its_files(tmp_path, change, message):
    index(hugging_face(tmp_path, files="sharded"), change)
    with pytest.raises(ValueError, match=message):
        BertEncoder.from_pretrained(tmp_path)


def test_an_array_in_two_files(tmp_path):
    for name in "ab":
        save_file({"x": np.ones(1)}, tmp_path / name)
    with pytest.raises(
        ValueError, match="b: array x must occur in only one file, but a contains it too. Use files"
    ):
        joined([tmp_path / "a", tmp_path / "b"], open_safetensors)


def test_no_folder(tmp_path):
    with pytest.raises(ValueError, match="none: expected a folder with model.safetensors or"):
        open_folder(tmp_path / "none")


def test_every_precision_but_those_of_eight_bits(tmp_path):
    path = tmp_path / "model.safetensors"
    kinds = {"a": "float64", "b": "float16", "c": ml_dtypes.bfloat16}
    save_file({name: np.arange(3).astype(kind) for name, kind in kinds.items()}, path)
    arrays = open_folder(tmp_path)
    for name in kinds:
        np.testing.assert_array_equal(arrays.array(name), [0, 1, 2])
    assert arrays.array("c").dtype == np.float32 and arrays.shapes["c"] == (3,)
    header = {"a": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]}}
    path.write_bytes(with_header(header))
    with pytest.raises(ValueError, match="array a cannot be read|float8"):
        print(open_folder(tmp_path).array("a").dtype.name)


def test_no_config_stands_beside_other_weights(tmp_path, monkeypatch):
    """An interruption between the two files leaves weights without a config."""
    write_folder(tmp_path, {"b": 1}, {"a": lambda: np.zeros(2)})
    replace = os.replace

    def killed(old, new):
        if Path(new).name == "config.json":
            raise KeyboardInterrupt
        replace(old, new)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path, {"b": 2}, {"a": lambda: np.ones(2)})
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_nothing_is_half_written(tmp_path):
    def fail():
        raise ValueError("no")

    write_folder(tmp_path / "new", {"b": 1}, {"a": lambda: np.arange(6.0).reshape(2, 3).T})
    saved = load_file(tmp_path / "new" / "model.safetensors")["a"]
    np.testing.assert_array_equal(saved, [[0, 3], [1, 4], [2, 5]])
    modes = {path.stat().st_mode for path in (tmp_path / "new").iterdir()}
    assert len(modes) == 1  # both files have the same permissions
    with pytest.raises(ValueError, match="no"):
        write_folder(tmp_path / "new", {"b": 2}, {"a": fail})
    assert json.loads((tmp_path / "new" / "config.json").read_text()) == {"b": 1}
    assert len(list((tmp_path / "new").iterdir())) == 2
    (tmp_path / "new" / INDEX).write_text("{}")
    with pytest.raises(ValueError, match="contains the weights of another model"):
        write_folder(tmp_path / "new", {}, {})
