"""Tests that the JavaScript of docs/howto/decoder.md prints the spans of the decoder, in Node."""

import json
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

from tfreps.export import write_decoder

pytestmark = pytest.mark.slow
pytest.importorskip("tf2onnx", reason="needs the extra onnx")
ort = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
NODE, NPM = shutil.which("node"), shutil.which("npm")
if NODE is None or NPM is None:
    pytest.skip("needs node and npm on the path", allow_module_level=True)

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "howto" / "decoder.md"
PACKAGE = "onnxruntime-web@1.30.0"
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
PROGRAM = """
const fs = require("fs");
const ort = require("onnxruntime-web");
const fetch = async (name) => ({{json: async () => JSON.parse(fs.readFileSync(name, "utf8"))}});
const scores = new Float32Array({scores});
const length = {length};
(async () => {{
{code}
}})();
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Returns a folder with a decoder and onnxruntime-web, which npm installs."""
    path = tmp_path_factory.mktemp("decoder") / "decoder"
    write_decoder(path, TAGS, "bio")
    command = [NPM, "install", "--ignore-scripts", "--no-audit", "--prefix", str(path), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    if done.returncode:
        pytest.skip(f"npm cannot install {PACKAGE}: {done.stderr[-200:]}")
    return path


@pytest.mark.parametrize("length", [1, 2, 30])
def test_the_spans_of_the_page(folder, length):
    [code] = re.findall(r"```javascript\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    random = np.random.default_rng(length)
    scores = random.normal(scale=2.0, size=[1, length, len(TAGS)]).astype("float32")
    program = PROGRAM.format(scores=json.dumps(scores.ravel().tolist()), length=length, code=code)
    (folder / "program.cjs").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [NODE, "program.cjs"], cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    found = [line.split() for line in done.stdout.splitlines()]
    session = ort.InferenceSession(folder / "decoder.onnx")
    inputs = {"logits": scores, "mask": np.ones([1, length], bool)}
    [spans], [shares] = session.run(["spans", "span_confidences"], inputs)
    types = json.loads((folder / "decoder.json").read_text(encoding="utf-8"))["span_types"]
    expected = [[types[kind], str(start), str(end)] for kind, start, end in spans if kind >= 0]
    assert [line[:3] for line in found] == expected and len(expected) >= length // 5
    for line, share in zip(found, shares, strict=False):
        assert float(line[3]) == pytest.approx(share, abs=1e-5)  # other kernels of float32
