"""Tests joining decoders to ONNX models: hand-built ones, and a BERT of transformers."""

import os
import subprocess

import numpy as np
import pytest

import tfreps
from tests import tiny_bert
from tests.closeness import assert_close
from tests.export.decoder import chain_oracle
from tfreps._src.export.decoder.joined_onnx import joined_onnx, model_to_join
from tfreps._src.export.decoder.short_names import with_short_names
from tfreps._src.inference import run
from tfreps.export import write_decoder

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
TAGS = ["O", "B-X", "I-X"]
TABLE = np.random.default_rng(0).normal(scale=2.0, size=[7, 3]).astype("float32")
NAMES = {"logits": "scores", "mask": "attention_mask"}
EXPORT = """
import sys, torch, transformers
model = transformers.BertForTokenClassification.from_pretrained(sys.argv[1]).eval()
class Logits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model
    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits
names = "input_ids", "attention_mask", "logits"
axes = {name: {0: "B", 1: "T"} for name in names}
ones = torch.ones([2, 5], dtype=torch.int64)
torch.onnx.export(
    Logits(), (ones, ones), sys.argv[2], dynamo=False, opset_version=17,
    input_names=names[:2], output_names=names[2:], dynamic_axes=axes,
)
"""


def write_classifier(path, opset=17, names=("ids", "scores"), half=False):
    """Writes a model whose logits are the rows of TABLE, in float16 if `half` is set."""
    from onnx import TensorProto, helper

    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    table = onnx.numpy_helper.from_array(TABLE.astype("float16") if half else TABLE, "table")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["B", "T"])
        for name in (names[0], "attention_mask")
    ]
    output = helper.make_tensor_value_info(names[1], kind, ["B", "T", 3])
    nodes = [helper.make_node("Gather", ["table", names[0]], [names[1]])]
    graph = helper.make_graph(nodes, "classifier", inputs, [output], [table])
    opsets = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def best_tags(opset=18):
    """Returns a small ONNX model with the inputs of a decoder: the best tag of each token."""
    from onnx import TensorProto, helper

    inputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, [None, None, 3]),
        helper.make_tensor_value_info("mask", TensorProto.BOOL, [None, None]),
    ]
    output = helper.make_tensor_value_info("tags", TensorProto.INT64, [None, None])
    nodes = [
        helper.make_node("ArgMax", ["logits"], ["best"], axis=2, keepdims=0),
        helper.make_node("Cast", ["mask"], ["ids"], to=TensorProto.INT64),
        helper.make_node("Mul", ["best", "ids"], ["tags"]),
    ]
    graph = helper.make_graph(nodes, "decoder", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return model.SerializeToString()


IDS = np.array([[1, 2, 3, 4], [6, 5, 0, 0]])
ATTENTION = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])


@pytest.mark.parametrize("opset, half", [(17, False), (20, False), (18, True)])
def test_joining_a_graph(opset, half, tmp_path):
    """Names of inner tensors that both models have, other types, and newer operator sets."""
    path = write_classifier(tmp_path / "model.onnx", opset, half=half)
    model = model_to_join(path, NAMES, 3)
    content = joined_onnx(model, best_tags(min(opset, 18)), list(NAMES))
    (tmp_path / "joined.onnx").write_bytes(content)
    _, function = run.STARTS["onnxruntime"](str(tmp_path / "joined.onnx"), 1)
    found = function({"ids": IDS, "attention_mask": ATTENTION})
    assert list(found) == ["tags"]
    assert found["tags"].tolist() == (TABLE.argmax(1)[IDS] * ATTENTION).tolist()


def test_models_that_cannot_be_joined(tmp_path):
    path = write_classifier(tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="such as ids, attention_mask, scores; got 'logits'"):
        model_to_join(path, {**NAMES, "logits": "logits"}, 3)
    with pytest.raises(ValueError, match=r"\[B, T, 4\].* scores has 3 axes, and 3 scores"):
        model_to_join(path, NAMES, 4)
    with pytest.raises(ValueError, match="operator set 13 or later; got 12"):
        model_to_join(write_classifier(tmp_path / "old.onnx", opset=12), NAMES, 3)
    (tmp_path / "broken.onnx").write_bytes(b"\x08\xff\xff")
    for name in ("broken.onnx", "missing.onnx"):
        with pytest.raises(ValueError, match=f"{name}: expected an ONNX model"):
            model_to_join(tmp_path / name, NAMES, 3)
    path = write_classifier(tmp_path / "clash.onnx", names=("tags", "scores"))
    model = model_to_join(path, NAMES, 3)
    with pytest.raises(ValueError, match="got tags. Rename them"):
        joined_onnx(model, best_tags(17), list(NAMES))


def test_short_names(tmp_path):
    """The model stays the same, and its inputs and outputs keep their names."""
    (tmp_path / "decoder.onnx").write_bytes(with_short_names(best_tags()))
    model = onnx.load(tmp_path / "decoder.onnx")
    assert {name for node in model.graph.node for name in node.input} >= {"logits", "mask", "t/4"}
    _, function = run.STARTS["onnxruntime"](str(tmp_path / "decoder.onnx"), 1)
    tags = function({"logits": TABLE[IDS], "mask": ATTENTION > 0})["tags"]
    assert tags.tolist() == (TABLE.argmax(1)[IDS] * ATTENTION).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("opset", [13, 17, 21])
def test_a_joined_decoder(opset, tmp_path):
    path = write_classifier(tmp_path / "model.onnx", opset)
    options = {"word_starts": "starts", "join": path, "logits": "scores"}
    written = write_decoder(tmp_path / "tagger", TAGS, "bio", **options)
    _, function = run.STARTS["onnxruntime"](str(written.file), 1)
    starts = np.array([[True, False, True, True], [True, True, True, True]])
    found = function({"ids": IDS, "attention_mask": ATTENTION, "starts": starts})
    check(found, TABLE[IDS], starts & (ATTENTION > 0))
    assert "| `starts` | tensor(bool) |" in (tmp_path / "tagger" / "README.md").read_text()


def check(found, logits, real):
    """Compares the outputs with the enumeration of all legal paths."""
    for row, scores in enumerate(logits):
        expected = chain_oracle.enumerated(TAGS, "bio", scores, real[row])
        assert found["tags"][row].tolist() == expected["tags"].tolist()
        assert_close(found["confidences"][row], expected["confidences"], magnitude=1.0)
        spans = [(start, end) for kind, start, end in found["spans"][row] if kind >= 0]
        assert spans == [span[1:] for span, _ in expected["spans"]]
        shares = [share for _, share in expected["spans"]]
        own = found["span_confidences"][row][: len(shares)]
        assert_close(own, shares, magnitude=1.0)


@pytest.mark.slow
def test_a_bert_of_transformers(tmp_path):
    """The export of transformers with a decoder equals `tfreps.load` of the same folder."""
    python = os.environ.get("TFREPS_TRANSFORMERS_PYTHON")
    if not python:
        pytest.skip("needs TFREPS_TRANSFORMERS_PYTHON, a Python with transformers and onnx")
    folder = write_bert(tmp_path / "bert")
    model = tmp_path / "model.onnx"
    subprocess.run([python, "-c", EXPORT, str(folder), str(model)], check=True)
    tagger = tfreps.load(folder, scheme="bio")
    tags = tagger.model.tags
    written = write_decoder(tmp_path / "tagger", tags, "bio", join=model, word_starts="starts")
    _, function = run.STARTS["onnxruntime"](str(written.file), 1)
    texts = ["Ada lives", "London lives in Ada London", "in", "Ada Ada London Ada in lives"]
    inputs = piece_inputs(tagger.tokenizer, texts)
    found = function(inputs)
    for row, expected in enumerate(tagger(texts)):
        at = np.flatnonzero(inputs["starts"][row])
        assert [tags[tag] for tag in found["tags"][row][at]] == expected.tags
        assert_close(found["confidences"][row][at], expected.confidences, terms=4096)
        spans = [span for span in found["spans"][row] if span[0] >= 0]
        assert [(start, end) for _, start, end in spans] == [
            (span.start, span.end) for span in expected.spans
        ]
        assert [tagger.model.span_types[kind] for kind, _, _ in spans] == [
            span.type for span in expected.spans
        ]
        shares = found["span_confidences"][row][: len(spans)]
        assert_close(shares, [span.confidence for span in expected.spans], terms=4096)
    _, alone = run.STARTS["onnxruntime"](str(model), 1)
    logits = alone({name: inputs[name] for name in ("input_ids", "attention_mask")})["logits"]
    check(found, logits, inputs["starts"])


def write_bert(folder):
    """Writes a tiny BERT tagger with random weights in the format of transformers."""
    tokenizer = tiny_bert.pieces("Ada", "lives", "in", "London")
    encoder = tiny_bert.make_encoder(tokenizer, max_sequence_length=24)
    tagger = tfreps.models.Tagger(encoder, TAGS, "bio", use_crf=False)
    tagger.kernel.assign(4.0 * tagger.kernel)
    tagger.save_pretrained(folder)
    tokenizer.write_vocabulary(folder / "vocab.txt")
    return folder


def piece_inputs(tokenizer, texts):
    """Returns the inputs of the joined model for texts whose words are separated by spaces."""
    rows, starts = [], []
    for text in texts:
        words = [tokenizer.tokenize(word) for word in text.split()]
        pieces = [piece for word in words for piece in word]
        first = [number == 0 for word in words for number, _ in enumerate(word)]
        ids = [tokenizer.vocabulary.index(piece) for piece in pieces]
        rows.append([tokenizer.start_id, *ids, tokenizer.separator_id])
        starts.append([False, *first, False])
    width = max(map(len, rows))
    pad = [width - len(row) for row in rows]
    ids = np.array([row + [0] * n for row, n in zip(rows, pad, strict=True)])
    mask = np.array([[1] * len(row) + [0] * n for row, n in zip(rows, pad, strict=True)])
    first = np.array([row + [False] * n for row, n in zip(starts, pad, strict=True)])
    return {"input_ids": ids, "attention_mask": mask, "starts": first}
