"""Tests int8 weights of ONNX models against NumPy, and the limit of the changes they make."""

import pathlib

import keras
import numpy as np
import pytest

import tfreps
from tests import tiny_bert, tiny_run
from tests.closeness import assert_close
from tests.exported_models import WORDS
from tfreps.__main__ import main
from tfreps._src.export.portable import portable_export
from tfreps._src.export.portable.int8_changes import TEXTS, int8_changes
from tfreps._src.export.portable.int8_weights import with_int8_weights
from tfreps._src.inference import run
from tfreps.export import open_for_export, write_portable_export
from tfreps.inference import TextBiLM, TextClassifier, TextTagger
from tfreps.models import BiLM, BiLSTMEncoder, Classifier, Tagger, TokenEmbedder
from tfreps.text import TokenIndexer

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
make = onnx.helper.make_node
STEPS = 3


def make_weights(**shapes):
    """Returns random weights by name, whose columns and rows have different sizes."""
    random = np.random.default_rng(0)
    sizes = {
        name: np.linspace(0.2, 2.0, rows)[:, None] * np.linspace(0.01, 0.1, columns)
        for name, (rows, columns) in shapes.items()
    }
    return {
        name: (size * random.normal(size=size.shape)).astype("float32")
        for name, size in sizes.items()
    }


def model(weights):
    """Returns an ONNX file: `h = tanh(table[ids] @ kernel)`, then `h = tanh(h @ loop)` in a loop.

    The outputs are `h @ head`, and the rows `table[ids]`.
    """
    floats, integers = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    info = onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph(
        [
            make("MatMul", ["h_in", "w"], ["product"], "loop_product"),
            make("Tanh", ["product"], ["h_out"], "loop_tanh"),
            make("Identity", ["go_in"], ["go_out"], "loop_go"),
        ],
        "body",
        [
            info("step", integers, []),
            info("go_in", onnx.TensorProto.BOOL, []),
            info("h_in", floats, [None, None]),
            info("w", floats, [None, None]),
        ],
        [
            info("go_out", onnx.TensorProto.BOOL, []),
            info("h_out", floats, [None, None]),
            info("w", floats, [None, None]),
        ],
    )
    nodes = [
        make("Gather", ["table", "ids"], ["rows"], "lookup"),
        make("MatMul", ["rows", "kernel"], ["product_0"], "product"),
        make("Tanh", ["product_0"], ["h"], "tanh"),
        make("Loop", ["steps", "", "h", "loop"], ["last", "same"], "loop", body=body),
        make("MatMul", ["last", "head"], ["scores"], "head"),
    ]
    constants = {**weights, "steps": np.array(STEPS)}
    graph = onnx.helper.make_graph(
        nodes,
        "graph",
        [info("ids", integers, [None])],
        [info("scores", floats, [None, 5]), info("rows", floats, [None, None])],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opset = [onnx.helper.make_opsetid("", 18)]
    made = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.checker.check_model(made)
    return made.SerializeToString()


def rounded_product(x, w):
    """Multiplies as integers: `x` has one scale and zero point, `w` a scale for each column."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    x_scale = (high - low) / np.float32(255)
    zero = np.clip(np.rint(-low / x_scale), 0, 255)
    # The arithmetic of float32 does not decide how values are rounded.
    assert np.abs([x / x_scale % 1 - 0.5]).min() > 1e-4 < np.abs(-low / x_scale % 1 - 0.5)
    x_values = np.clip(np.rint(x / x_scale) + zero, 0, 255) - zero
    w_scale = np.abs(w).max(axis=0) / np.float32(64)
    w_values = np.rint(w / w_scale)
    assert np.abs(w_values).max() == 64  # pairs of products fit into 16 bits: 2 * 255 * 64
    return (x_values @ w_values) * x_scale * w_scale


def test_matrices_and_tables_against_numpy():
    """The matrix outside and inside the loop and the table are rounded, the head is not."""
    square = 128, 128
    weights = make_weights(table=(300, 128), kernel=square, loop=square, head=(128, 5))
    ids = np.array([0, 7, 299, 7])
    content = with_int8_weights(model(weights))
    stored = {each.name for each in onnx.load_from_string(content).graph.initializer}
    assert "head" in stored and not stored & {"table", "kernel", "loop"}
    session = onnxruntime.InferenceSession(content)
    scores, rows = session.run(["scores", "rows"], {"ids": ids})
    scale = np.abs(weights["table"]).max(axis=1, keepdims=True) / 127
    expected = (np.rint(weights["table"] / scale) * scale)[ids]
    assert_close(rows, expected)
    h = np.tanh(rounded_product(expected, weights["kernel"]))
    for _ in range(STEPS):
        h = np.tanh(rounded_product(h, weights["loop"]))
    assert np.abs(h).max() > 0.1
    assert_close(scores, h @ weights["head"], terms=128)


def test_a_model_without_large_matrices():
    square = 127, 127
    small = model(make_weights(table=(99, 127), kernel=square, loop=square, head=(127, 5)))
    with pytest.raises(ValueError, match="at least 16,384 values; this model has none"):
        with_int8_weights(small)


class Answers:
    """Stands in for `run.Model`: returns prepared answers."""

    def __init__(self, kind, answers):
        self.about, self.answers = {"kind": kind}, answers

    def __call__(self, texts):
        return self.answers[: len(texts)]


def tagged(tags, *spans):
    names = "type", "start", "end"
    return {"tags": tags, "spans": [dict(zip(names, span, strict=True)) for span in spans]}


@pytest.mark.parametrize(
    "kind, before, after, change, message",
    [
        (
            "tagger",
            [tagged(["B-X", "I-X", "O"], ("X", 0, 2)), tagged(["B-Y"], ("Y", 0, 1))],
            [tagged(["B-X", "O", "O"], ("X", 0, 1)), tagged(["B-Y"], ("Y", 0, 1))],
            0.25,
            "the tags of 1 of 4 tokens, 1 of 2 spans lost and 1 added",
        ),
        (
            "classifier",
            [{"label": "a", "probabilities": {"a": 0.75, "b": 0.25}}] * 2,
            [
                {"label": "a", "probabilities": {"a": 0.5, "b": 0.5}},
                {"label": "b", "probabilities": {"a": 0.25, "b": 0.75}},
            ],
            0.5,
            "the labels of 1 of 2 texts, probabilities by at most 0.5",
        ),
        (
            "embedder",
            [{"vectors": [3.0, 4.0]}, {"vectors": [0.0, 0.0]}],
            [{"vectors": [4.0, 3.0]}, {"vectors": [0.0, 0.0]}],
            0.02,  # 1 - (24 / 25 + 1) / 2
            "cosine similarity to those in float32 is 0.9800 on average and at least 0.9600",
        ),
    ],
)
def test_the_changes_that_are_counted(kind, before, after, change, message):
    programs = Answers(kind, before), Answers(kind, after)
    found = int8_changes(*programs, ["one", "two"], change + 1e-6)
    start = "Storing the weights as int8 changes these outputs for 2 texts: "
    assert found.startswith(start) and found.endswith(f"{message}.")
    refused = (
        f"by {change}, which is more than `max_change`, .* no version was written: .*{message}"
    )
    with pytest.raises(ValueError, match=refused):
        int8_changes(*programs, ["one", "two"], change - 1e-6)
    with pytest.raises(ValueError, match="`check_texts` must be a non-empty list"):
        int8_changes(*programs, [], 1.0)


def test_nothing_is_written_if_too_much_changes(tmp_path, monkeypatch):
    """Of a model whose labels are exchanged by int8 weights."""
    indexer = TokenIndexer.from_sentences([WORDS])
    classifier = Classifier(TokenEmbedder(indexer.vocabulary_size, 6), ["A", "B"])
    signatures = open_for_export(TextClassifier(classifier, indexer))

    def start(path, threads):
        step = -1 if pathlib.Path(path).read_bytes() == b"int8" else 1
        return None, lambda inputs: {
            "probabilities": classifier(inputs)["probabilities"].numpy()[:, ::step]
        }

    monkeypatch.setitem(run.STARTS, "onnxruntime", start)
    monkeypatch.setattr(portable_export, "convert", lambda *_: b"float32")
    monkeypatch.setattr(portable_export, "with_int8_weights", lambda _: b"int8")
    texts = ["Ada lives .", "London"]
    write = lambda most: write_portable_export(  # noqa: E731
        signatures, tmp_path / "out", weight_dtype="int8", check_texts=texts, max_change=most
    )
    with pytest.raises(ValueError, match="labels of 2 of 2 texts"):
        write(0.99)
    assert not [*(tmp_path / "out").iterdir()]
    written = write(1.0)
    assert "the labels of 2 of 2 texts" in written.changes
    assert written.size == 4 and (written.folder / "model.onnx").read_bytes() == b"int8"
    assert "with int8 weights" in (written.folder / "README.md").read_text(encoding="utf-8")


def test_types_that_a_format_does_not_have(tmp_path):
    indexer = TokenIndexer.from_sentences([WORDS])
    classifier = Classifier(TokenEmbedder(indexer.vocabulary_size, 6), ["A", "B"])
    signatures = open_for_export(TextClassifier(classifier, indexer))
    for kind, format in ("bfloat16", "onnx"), ("int8", "litert"):
        with pytest.raises(ValueError, match=f"for the format '{format}'; got '{kind}'"):
            write_portable_export(signatures, tmp_path, format, kind)


def make_bilm():
    """Returns a biLM of one layer, whose kernels outside and inside the loops are large."""
    keras.utils.set_random_seed(3)
    bilm = BiLM(filters=[[1, 64]], units=64, projection_dim=64, num_layers=1)
    return TextBiLM(bilm, tiny_run.VOCABULARY)


def make_tagger():
    keras.utils.set_random_seed(3)
    indexer = TokenIndexer.from_sentences([[*WORDS, *map(str, range(500))]])
    encoder = BiLSTMEncoder(TokenEmbedder(indexer.vocabulary_size, 64), 64)
    return TextTagger(Tagger(encoder, ["O", "B-X", "I-X"]), indexer)


@pytest.mark.slow
@pytest.mark.parametrize("maker", [make_bilm, make_tagger])
def test_models_with_loops(maker, tmp_path):
    """The kernels in the loops are int8, and the outputs are those of an export in float32."""
    signatures = open_for_export(maker())
    wide, small = (
        write_portable_export(signatures, tmp_path / kind, weight_dtype=kind, max_change=0.5)
        for kind in ("float32", "int8")
    )
    assert small.changes and not wide.changes and small.size < 0.75 * wide.size
    assert small.difference == wide.difference
    graph = onnx.load(small.folder / "model.onnx").graph
    bodies = [part.g for node in graph.node for part in node.attribute if part.HasField("g")]
    kinds = [{node.op_type for node in body.node} for body in bodies]
    assert sum("MatMulInteger" in names for names in kinds) == 2  # one of each direction
    assert not any("MatMul" in names for names in kinds)
    texts = ["Ada lives in London .", "", "3 4 5 6 7 8", *TEXTS]
    programs = [run.Model(written.folder) for written in (wide, small)]
    rows = [program.rows(texts) for program in programs]
    for (_, tokens, old), (_, own, new) in zip(*rows, strict=True):
        assert tokens == own and old.keys() == new.keys()
        for name in "lstm_outputs1", "confidences":
            if name in old:
                assert np.abs(new[name] - old[name]).max() < 0.1 * np.abs(old[name]).max(initial=1)
                assert np.any(new[name] != old[name]) or not tokens
    assert type(tfreps.load(small.folder.parent)) is type(tfreps.load(wide.folder.parent))


@pytest.mark.slow
def test_the_command(tmp_path, capsys):
    run_folder, _ = tiny_bert.write_run(
        tmp_path / "run", tiny_bert.pieces("the", "dog", "left"), hidden_dim=128, num_heads=2
    )
    texts = tmp_path / "texts.txt"
    texts.write_text("the dog\nleft\nthe the dog left\n", encoding="utf-8")
    command = ["export", str(run_folder), "--output", str(tmp_path / "out"), "--format", "onnx"]
    command += ["--weight-dtype", "int8", "--check-texts", str(texts)]
    assert main([*command, "--max-change", "0"]) == 2
    error = capsys.readouterr().err
    assert "changes the outputs for 3 texts by " in error
    assert "more than --max-change, 0, so no version was written: the vectors, whose" in error
    assert not [*(tmp_path / "out").iterdir()]
    assert main(command) == 0
    output = capsys.readouterr().out
    assert "Its outputs in float32 differ from the model's by at most " in output
    assert "Storing the weights as int8 changes these outputs for 3 texts: the vectors" in output
    assert main([*command[:-2], "--check-texts", str(tmp_path / "no.txt")]) == 2
    assert "no.txt" in capsys.readouterr().err
