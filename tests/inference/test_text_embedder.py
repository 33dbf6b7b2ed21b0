"""Vectors, similarities and search of text embedders, against plain loops over floats."""

import math

import numpy as np
import pytest

from tests import known_models
from tests.closeness import assert_close
from tests.known_models import TEXTS
from tfreps._src.inference import embedding_methods, vector_search
from tfreps.inference import ExportedEmbedder, TextEmbedder
from tfreps.models import SentenceEmbedder
from tfreps.text import TokenIndexer

pytestmark = pytest.mark.usefixtures("eager_if_quick")
CORPUS = ["Ada", "Rome slept", "", "saw", "Ada Rome Rome", "Ada", "Rome Rome Rome saw"]
KINDS = "cosine", "dot", "euclidean", "manhattan"


class Program:
    """Export whose vectors are those of the model: `mean(text)`."""

    session, about = None, {"vector_dim": 2}

    def __init__(self, **about):
        self.about = {**self.about, **about}

    def rows(self, texts):
        return [(text, text.split(), {"vectors": mean(text)}) for text in texts]


def mean(text):
    """Returns the vector of a text: the mean of the vectors of its words."""
    rows = [TEXTS[word] for word in text.split()]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)] if rows else [0.0, 0.0]


def make(kind="cosine", **prompts):
    """Returns an embedder of two numbers and its export."""
    model = SentenceEmbedder(known_models.embedder(TEXTS, 2))
    indexer = TokenIndexer(known_models.VOCABULARY)
    embedder = TextEmbedder(model, indexer, similarity_fn_name=kind, **prompts)
    return embedder, ExportedEmbedder(Program(similarity_fn_name=kind), "exports/known")


def similarity(a, b, kind):
    """Returns the similarity of two vectors, by loops."""
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    if kind == "cosine":
        lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
        return dot / lengths if lengths else 0.0
    if kind == "dot":
        return dot
    gaps = [abs(x - y) for x, y in zip(a, b, strict=True)]
    return -math.sqrt(sum(g * g for g in gaps)) if kind == "euclidean" else -sum(gaps)


def ranked(query, corpus, kind, top_k):
    """Returns the numbers of the best vectors, by selecting the first best one again and again."""
    left = [np.float32(similarity(query, vector, kind)) for vector in corpus]
    found = []
    for _ in range(min(top_k, len(corpus))):
        best = max(number for number in left if number is not None)
        found.append(left.index(best))
        left[found[-1]] = None
    return found


@pytest.mark.parametrize("which", [0, 1])
def test_encode(which):
    embedder, expected = make()[which], np.array([mean(text) for text in CORPUS])
    for batch_size in 1, 3, 1024:
        found = embedder.encode(iter(CORPUS), batch_size)
        assert found.dtype == np.float32 and found.shape == (7, 2)
        assert_close(found, expected)
    assert_close(embedder.encode("Rome saw"), [0.5, 1.0])
    assert embedder.encode([]).shape == (0, 2)
    unit = embedder.encode(CORPUS, normalize=True)
    lengths = [math.sqrt(sum(x * x for x in row)) for row in unit.tolist()]
    assert_close(lengths, [1, 1, 0, 1, 1, 1, 1])
    for wrong, message in (["Ada", ["Rome"]], "not lists of tokens"), ([1], "must be a string"):
        with pytest.raises(ValueError, match=message):
            embedder.encode(wrong)
    with pytest.raises(ValueError, match="`batch_size` must be at least 1"):
        embedder.encode(CORPUS, batch_size=0)


def test_batches_have_texts_of_similar_length(monkeypatch):
    embedder, sizes = make()[1], []
    rows = embedder.program.rows
    monkeypatch.setattr(
        embedder.program, "rows", lambda texts: sizes.append([*map(len, texts)]) or rows(texts)
    )
    embedder.encode(CORPUS, batch_size=3)
    assert sizes == [[18, 13, 10], [3, 3, 3], [0]]


def test_a_progress_bar(monkeypatch, capsys):
    embedder = make()[1]
    now = [0.0]
    monkeypatch.setattr("tfreps._src.files.progress.time.monotonic", lambda: now[0])
    rows = embedder.program.rows

    def slow_rows(texts):
        now[0] += 70
        return rows(texts)

    monkeypatch.setattr(embedder.program, "rows", slow_rows)
    embedder.encode(CORPUS, batch_size=4)
    assert capsys.readouterr() == ("", "")
    embedder.encode(CORPUS, batch_size=4, show_progress_bar=True)
    out, err = capsys.readouterr()
    assert out == "" and err == "4 texts, 0 texts/s, 0:52 left\n7 texts, 0 texts/s, 0:00 left\n"


def test_prompts():
    embedder, export = make(prompts={"in": "Rome "}, default_prompt=None)
    assert_close(embedder.encode("Ada", prompt="in"), mean("Rome Ada"))
    [[(number, _)]] = embedder.search(["Ada"], ["Rome Ada", "Ada"], 1, query_prompt="in")
    assert number == 0
    [[(number, _)]] = embedder.search(["Rome Ada"], ["slept", "Ada"], 1, corpus_prompt="in")
    assert number == 1
    with pytest.raises(ValueError, match="`prompt` must be None for exports/known, .*got 'in'"):
        export.encode("Ada", prompt="in")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", [0, 1])
def test_similarities_of_texts_and_vectors(kind, which):
    embedder = make(kind)[which]
    first, second = CORPUS[:3], CORPUS
    expected = [[similarity(mean(a), mean(b), kind) for b in second] for a in first]
    found = embedder.similarity(iter(first), second)
    assert found.dtype == np.float32
    assert_close(found, expected, magnitude=4)
    vectors = embedder.encode(second)
    assert_close(embedder.similarity(first, vectors.astype("float64")), expected, magnitude=4)


@pytest.mark.parametrize("kind", KINDS)
def test_search_by_a_plain_loop(kind):
    embedder, _ = make(kind)
    queries = ["Rome", "Ada saw", ""]
    for top_k in 1, 3, 7, 10:
        found = embedder.search(queries, (text for text in CORPUS), top_k)
        corpus = [mean(text) for text in CORPUS]
        for query, hits in zip(queries, found, strict=True):
            assert [number for number, _ in hits] == ranked(mean(query), corpus, kind, top_k)
            for number, score in hits:
                exact = similarity(mean(query), corpus[number], kind)
                assert isinstance(number, int) and isinstance(score, float)
                assert_close(score, exact, magnitude=4)


@pytest.mark.parametrize("kind", KINDS)
def test_search_does_not_depend_on_the_blocks(kind, monkeypatch):
    """Half of the vectors occur again, so that there are ties; the first of them come first."""
    random = np.random.default_rng(0)
    corpus = random.normal(size=[300, 17]).astype("float32")
    corpus[150:] = corpus[random.integers(0, 150, 150)]
    queries = random.normal(size=[9, 17]).astype("float32")
    embedder, results = make(kind)[1], []
    for block, rows in (8192, 256), (1, 4), (7, 1), (64, 3):
        monkeypatch.setattr(embedding_methods, "VECTORS_AT_ONCE", block)
        monkeypatch.setattr(vector_search, "QUERIES", rows)
        results.append(embedder.search(queries, corpus, top_k=20))
    assert results[1:] == results[:-1]
    for query, hits in zip(queries.tolist(), results[0], strict=True):
        assert [number for number, _ in hits] == ranked(query, corpus.tolist(), kind, 20)


def test_search_reads_blocks_of_the_corpus(monkeypatch, tmp_path):
    """It reads no further text before a block is compared, and maps arrays from files."""
    monkeypatch.setattr(embedding_methods, "AT_ONCE", 4)
    embedder, seen, read = make()[1], [], []
    rows = embedder.program.rows
    monkeypatch.setattr(
        embedder.program, "rows", lambda texts: seen.append(len(read)) or rows(texts)
    )

    def corpus():
        for number in range(10):
            read.append(number)
            yield "Rome" if number == 7 else "Ada"

    assert embedder.search(["Rome"], corpus(), 1)[0][0][0] == 7
    assert seen == [0, 4, 8, 10]
    np.save(tmp_path / "corpus.npy", np.array([[1, 0], [0, 1]], "float16"))
    mapped = np.load(tmp_path / "corpus.npy", mmap_mode="r")
    assert embedder.search(["Rome"], mapped, 1) == [[(1, 1.0)]]
    assert embedder.search(["Rome"], [], 1) == [[]] and embedder.search([], ["Ada"]) == []


@pytest.mark.parametrize(
    "queries, corpus, options, message",
    [
        ("Ada", ["Ada"], {}, "`queries` must be a list of texts; got the string 'Ada'"),
        (["Ada"], "Ada", {}, "`corpus` must be a list of texts; got the string 'Ada'"),
        (["Ada"], [3], {}, r"`corpus\[0\]` must be a string; got 3"),
        (["Ada"], ["Ada"], {"top_k": 0}, "`top_k` must be at least 1; got 0"),
        (["Ada"], np.zeros(3), {}, r"`corpus` must be an array of vectors, .* shape \[3\]"),
        (["Ada"], np.zeros([2, 3]), {}, "the same width .* got the widths 2 and 3"),
        (np.zeros([2, 3]), ["Ada"], {}, "the same width .* got the widths 3 and 2"),
        (["Ada"], np.full([1, 2], np.nan), {}, "`corpus` must have finite numbers"),
    ],
)
def test_what_cannot_be_searched(queries, corpus, options, message):
    with pytest.raises(ValueError, match=message):
        make()[1].search(queries, corpus, **options)


def test_the_name_of_a_similarity():
    with pytest.raises(ValueError, match="`similarity_fn_name` must be one of cosine, dot, .*'x'"):
        make("x")
