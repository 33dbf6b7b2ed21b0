"""Tests the neighbors of a word against cosines that are computed word by word."""

import contextlib
import copy

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.server.small_models import save, serving, spec
from tfreps.serving.server.models.servable import Servable
from tfreps.serving.server.requests.call import Call
from tfreps.serving.server.requests.event_loop import on_loop
from tfreps.serving.server.rest.context_neighbors import ContextNeighbors

TEXTS = ["a bb ccc", "dddd bb", ""]
SENTENCES = ["ccc a", "eeeee bb ccc dddd a bb ccc dddd"]


def embed(text):
    """Returns the vector [bytes, position, 2] for each token."""
    tokens = tf.strings.split(text).to_tensor("")  # [N, T]
    size = tf.cast(tf.strings.length(tokens), tf.float32)
    places = tf.cumsum(tf.ones_like(size), axis=1, exclusive=True)
    lengths = tf.reduce_sum(tf.cast(tokens != "", tf.int32), axis=1)
    elmo = tf.stack([size, places, 2 * tf.ones_like(size)], -1)
    return {"elmo": elmo, "sequence_len": lengths, "tokens": tokens}


def without_tokens(text):
    return {name: value for name, value in embed(text).items() if name != "tokens"}


def classify(text):
    return {"label": text}


def save_models(folder):
    text = {"text": spec("string", None)}
    save(folder / "bilm" / "1", serving_default=(without_tokens, text), explain=(embed, text))
    save(folder / "plain" / "1", serving_default=(without_tokens, text), default=(embed, text))
    save(folder / "label" / "1", serving_default=(classify, text))
    return [folder / name for name in ("bilm", "plain", "label")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(*save_models(tmp_path_factory.mktemp("models"))) as started:
        yield started


@pytest.fixture
def neighbors(server):
    return ContextNeighbors(server._core, SENTENCES)


def find(neighbors, *asked, **options):
    return on_loop(neighbors.find(Call(20), *asked, **options))


def cosines(wanted):
    """Returns `(similarity, from, token)` of all other words, the most similar first."""
    words = []
    for kind, texts in (("text", TEXTS), ("sentence", SENTENCES)):
        for number, text in enumerate(texts, 1):
            for place, token in enumerate(text.split()):
                vector = np.array([len(token), place, 2.0])
                words.append((f"{kind} {number}", place, token, vector))
    (own,) = [vector for *where, _, vector in words if tuple(where) == wanted]
    found = [
        (vector @ own / np.linalg.norm(vector) / np.linalg.norm(own), source, token)
        for source, place, token, vector in words
        if (source, place) != wanted
    ]
    return sorted(found, key=lambda entry: -entry[0])


@pytest.mark.parametrize("model", ["bilm", "plain"])
def test_by_falling_cosine(neighbors, model):
    found = find(neighbors, model, TEXTS, 0, 1, k=50)
    expected = cosines(("text 1", 1))
    assert len(found) == len(expected) == 14
    similarities = [word["similarity"] for word in found]
    assert similarities == pytest.approx([e[0] for e in expected], abs=1e-4)  # 4 digits
    assert sorted((w["from"], w["token"]) for w in found) == sorted(e[1:] for e in expected)
    # "bb" as the second word of another text has the same vector.
    first = {"token": "bb", "left": "dddd", "right": "", "from": "text 2", "similarity": 1.0}
    assert first in found[:2]


def test_context_of_five_words(neighbors):
    words = {(w["from"], w["left"]): w for w in find(neighbors, "bilm", TEXTS, 0, 0, k=50)}
    word = words["sentence 2", "bb ccc dddd a bb"]
    assert (word["token"], word["right"]) == ("ccc", "dddd")


def test_only_as_many_as_there_are(server):
    alone = ContextNeighbors(server._core)
    assert find(alone, "bilm", ["one"], 0, 0) == []
    assert len(find(alone, "bilm", ["one two three"], 0, 0, k=1)) == 1


@pytest.fixture
def asked(monkeypatch):
    """Returns the list of the texts that are sent to models."""
    texts = []
    prepare = Servable.prepare

    def note(self, call, signature, inputs, *rest):
        texts.append(inputs["text"].tolist())
        return prepare(self, call, signature, inputs, *rest)

    monkeypatch.setattr(Servable, "prepare", note)
    return texts


def test_sentences_are_embedded_once(neighbors, asked):
    for _ in range(2):
        find(neighbors, "bilm", ["x"], 0, 0)
    assert asked == [[b"x"], [text.encode() for text in SENTENCES], [b"x"]]


def test_another_model_under_the_same_version_is_asked_again(server, asked, monkeypatch):
    """Vectors are recomputed if a version is removed and its number is used for another model."""
    neighbors = ContextNeighbors(server._core, SENTENCES)
    find(neighbors, "bilm", ["x"], 0, 0)
    with server._core.pool.lease("bilm") as (number, servable):
        other = copy.copy(servable)
    monkeypatch.setattr(
        server._core.pool, "lease", lambda *_: contextlib.nullcontext((number, other))
    )
    find(neighbors, "bilm", ["x"], 0, 0)
    sentences = [text.encode() for text in SENTENCES]
    assert asked == [[b"x"], sentences, [b"x"], sentences]
