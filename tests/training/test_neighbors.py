"""Tests `tfreps neighbors`: nearest tokens and their contexts."""

import re

import numpy as np
import pytest

from tests.closeness import assert_close
from tests.convert.sentence_transformers_fixture import FOLDER
from tests.tiny_run import make_run
from tfreps.__main__ import main
from tfreps.text import batch_to_ids
from tfreps.training import neighbors

pytestmark = pytest.mark.usefixtures("eager_if_quick")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "run")


def tfreps(capsys, *arguments):
    assert main(["neighbors", *map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_the_nearest_tokens(run, small_corpus, capsys):
    text = small_corpus / "train-00.txt"
    out = tfreps(capsys, run[0], "--text", text, "--word", "bank", "--count", "2")
    assert "15 sentences" in out and "'bank' occurs 4 times" in out

    sentences = [line.split() for line in text.read_text().splitlines()]
    top = run[1].bilm(batch_to_ids(sentences))["sequence_output"].numpy()
    rows = [(n, i) for n, tokens in enumerate(sentences) for i in range(len(tokens))]
    vectors = np.array([top[row] for row in rows])
    vectors -= vectors.mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    blocks = re.findall(r"^\((\d)\) (.*)\n +(-?[\d.]+)  (.*)\n +(-?[\d.]+)  (.*)\n", out, re.M)
    assert [block[0] for block in blocks] == ["1", "2", "3"]
    shown = []
    for _, context, *found in blocks:
        token = [neighbors.in_context(sentences, row) for row in rows].index(context)
        assert sentences[rows[token][0]][rows[token][1]] == "bank"
        cosines = vectors @ vectors[token]
        others = [t for t in np.argsort(-cosines) if rows[t][0] != rows[token][0]][:2]
        for t, cosine, words in zip(others, found[::2], found[1::2], strict=True):
            assert float(cosine) == pytest.approx(cosines[t], abs=0.006)
            assert words == neighbors.in_context(sentences, rows[t])
        shown.append(vectors[token])
    said = re.findall(r"\((\d)\) and \((\d)\): (-?\d\.\d\d)", out)
    assert len(said) == 3
    for a, b, cosine in said:
        assert float(cosine) == pytest.approx(shown[int(a) - 1] @ shown[int(b) - 1], abs=0.006)
        assert float(cosine) < 1


@pytest.mark.slow
def test_a_word_is_found(run, small_corpus, capsys):
    out = tfreps(capsys, run[0], "--text", small_corpus / "train-01.txt", "--max-sentences", "12")
    assert "12 sentences" in out and re.search(r"'[a-zA-Z]{3,}' occurs \d+ times", out)


def test_context():
    sentence = "a b c d e f g h i j k l".split()
    assert neighbors.in_context([sentence], (0, 0)) == "[a] b c d e f ..."
    assert neighbors.in_context([sentence], (0, 6)) == "... b c d e f [g] h i j k l"


def test_most_different_and_mean_cosine():
    vectors = np.array([[1, 0], [0.8, 0.6], [0, 1], [-1, 0], [-0.6, 0.8]])
    assert neighbors.most_different(vectors, 2) == [0, 3]
    assert neighbors.most_different(vectors, 3) == [0, 2, 3]
    assert neighbors.most_different(vectors[:1], 3) == [0]
    pairs = [vectors[a] @ vectors[b] for a in range(5) for b in range(5) if a != b]
    assert_close(neighbors.mean_cosine(vectors), np.mean(pairs))


@pytest.mark.slow
def test_a_word_that_occurs_once(run, small_corpus, capsys):
    out = tfreps(capsys, run[0], "--text", small_corpus / "train-01.txt", "--word", "rain")
    assert "(2)" in out
    out = tfreps(capsys, run[0], "--text", small_corpus / "train-01.txt", "--word", "small")
    assert "occurs once" in out and "(2)" not in out


@pytest.mark.parametrize(
    "content, flags, message",
    [
        (b"the dog\nthe river bank\n", ["--word", "bark"], "Similar words are bank"),
        (b"the dog\nthe river\n", ["--count", "0"], "--count must be at least 1"),
        (b"the dog\n\n", [], "at least two distinct sentences"),
        (b"a\na\nb\n", ["--max-sentences", "2"], "among its first 2 sentences of 1 to 200 tokens"),
        (b"the d\xf6g\n\n", [], "line 1: expected UTF-8"),
        (None, [], "No such file"),
    ],
)
def test_what_cannot_be(run, tmp_path, capsys, content, flags, message):
    path = tmp_path / "text"
    if content is not None:
        path.write_bytes(content)
    assert main(["neighbors", run[0], "--text", str(path), *flags]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and len(captured.err.splitlines()) == 1


def test_a_text_embedder_is_for_search(tmp_path, capsys):
    path = tmp_path / "texts.txt"
    path.write_text("the dog\nthe bank\n")
    assert main(["neighbors", str(FOLDER / "model"), "--text", str(path)]) == 2
    err = capsys.readouterr().err
    assert "MODEL must be a biLM; " in err and "use tfreps search" in err
