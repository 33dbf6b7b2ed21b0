"""Tests `tfreps search`: the lines that are most similar to texts, in both formats."""

import gzip
import json
import math

import numpy as np
import pytest

from tests.convert.sentence_transformers_fixture import FOLDER
from tests.training.labeling import ask, refused
from tfreps import load

pytestmark = pytest.mark.usefixtures("eager_if_quick")
MODEL = FOLDER / "model"
LINES = ["the hotel", "", "dogs", "the hotel", ": - )", "naive cafe"]
QUERIES = ["hotels", "dog"]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


@pytest.fixture(scope="module")
def expected():
    """Returns `(line, cosine)` for each query, by plain sums; equal lines keep their order."""
    embedder, found = load(MODEL), []
    for query in QUERIES:
        a, rows = embedder(query).vectors.tolist(), []
        for number, line in enumerate(LINES, 1):
            b = embedder(line).vectors.tolist()
            dot = sum(x * y for x, y in zip(a, b, strict=True))
            lengths = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
            rows.append((round(dot / lengths, 6), number))
        rows.sort(key=lambda row: (-row[0], row[1]))
        found.append([(number, cosine) for cosine, number in rows])
    return found


def check(results, expected):
    assert [line for line, _ in results] == [line for line, _ in expected]
    for (_, score), (_, cosine) in zip(results, expected, strict=True):
        assert score == pytest.approx(cosine, abs=6e-5)  # four digits are printed


def test_columns(corpus, expected):
    rows = [
        line.split("\t")
        for line in ask("search", corpus, "--query", *QUERIES, "--model", MODEL).splitlines()
    ]
    assert [int(row[0]) for row in rows] == [1] * 5 + [2] * 5
    for number, best in enumerate(expected, 1):
        own = [row for row in rows if row[0] == str(number)]
        check([(int(line), float(score)) for _, line, score, _ in own], best[:5])
        assert [text for *_, text in own] == [LINES[line - 1] for line, _ in best[:5]]


@pytest.mark.slow
def test_json_lines_with_queries_from_a_file_and_stored_vectors(corpus, expected, tmp_path):
    (tmp_path / "queries.txt").write_text("\n".join(QUERIES))
    (tmp_path / "texts.txt.gz").write_bytes(gzip.compress(corpus.read_bytes()))
    queries = ["--queries", tmp_path / "queries.txt", "--model", MODEL, "--top", 20]
    output = tmp_path / "found.jsonl"
    how = [*queries, "--output-format", "json", "--output", output]
    assert ask("search", tmp_path / "texts.txt.gz", *how) == ""
    found = [json.loads(line) for line in output.read_text().splitlines()]
    assert [each["query"] for each in found] == QUERIES
    for each, best in zip(found, expected, strict=True):
        check([(row["line"], row["score"]) for row in each["results"]], best)
        assert [row["text"] for row in each["results"]] == [LINES[line - 1] for line, _ in best]
    vectors = tmp_path / "vectors.npy"
    assert f"--vectors {vectors}" in ask("embed", MODEL, corpus, "--output", vectors)
    alone = ask("search", corpus, *queries)
    assert ask("search", corpus, *queries, "--vectors", vectors) == alone


@pytest.mark.slow
def test_prompts(tmp_path):
    """The default prompt is "query" with the text "the "; the prompt "document" is empty."""
    path = tmp_path / "texts.txt"
    path.write_text("hotel\nthe hotel\n")
    words = [path, "--query", "hotel", "--model", MODEL, "--top", 1, "--corpus-prompt", "document"]
    assert ask("search", *words) == "1\t2\t1.0000\tthe hotel\n"
    assert ask("search", *words, "--query-prompt", "document") == "1\t1\t1.0000\thotel\n"


def test_what_cannot_be(corpus, tmp_path, capsys):
    np.save(tmp_path / "short.npy", np.zeros([5, 16], "float32"))
    np.save(tmp_path / "narrow.npy", np.zeros([6, 3], "float32"))
    (tmp_path / "empty.txt").write_text("")
    query = ["--query", "dogs"]
    for words, message in [
        ([corpus], "--query is missing. Give --query TEXT or --queries FILE."),
        ([corpus, *query, "--queries", corpus], "--query cannot be combined with --queries"),
        ([tmp_path / "absent", *query], "Cannot read"),
        ([tmp_path / "empty.txt", *query], "FILE must contain at least one line"),
        ([corpus, "--queries", tmp_path / "empty.txt"], "--queries must contain at least one"),
        ([corpus, *query, "--output", corpus], "is an input of this command"),
        ([corpus, *query, "--vectors", corpus], "--vectors must be a .npy file"),
        ([corpus, *query, "--vectors", tmp_path / "short.npy"], "each of the 6 lines of"),
        ([corpus, *query, "--vectors", tmp_path / "narrow.npy"], " and 3. Compute both"),
        ([corpus, *query, "--query-prompt", "x"], "--query-prompt or --corpus-prompt must be one"),
    ]:
        assert message in refused(capsys, "search", *words, "--model", MODEL), words
