"""Streams of text have the tags of the whole text, and their cost does not grow."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tests.training import labeling
from tfreps._src.layers.ops import chain
from tfreps.data import SequenceBatches
from tfreps.inference import TextTagger
from tfreps.models import (
    BiLSTMEncoder,
    HMMTagger,
    LinearEncoder,
    PieceEncoder,
    Tagger,
    TokenEmbedder,
)
from tfreps.text import PieceIndexer, TokenIndexer

WORDS = "Ada Rome saw 3.50 U.N. didn't Mr. end. , . ... ( ) ' \" 中文 café e\u0301a ❤\ufe0f".split()
SPACES = [" ", " ", " ", "\n", "\r\n", "\u3000", "  ", "\t"]
TAGS = {
    "bio": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
    "iob1": ["O", "I-PER", "B-PER", "I-LOC", "B-LOC"],
    "bioes": ["O", "B-X", "I-X", "E-X", "S-X"],
    None: ["N", "V", "D"],
}


def on_grid(rng, shape):
    """Returns scores whose float32 sums are exact, so that ties do not depend on rounding."""
    return rng.integers(-12, 13, shape).astype("float32") / 8


def indexer():
    return TokenIndexer.from_sentences([WORDS, list("".join(WORDS)), ["Ada"]])


def linear_tagger(tokens="words", scheme="bio", seed=0, **options):
    rng = np.random.default_rng(seed)
    index, tags = indexer(), TAGS[scheme]
    encoder = LinearEncoder(index.vocabulary_size, len(tags), num_buckets=64, **options)
    for weight in encoder.weights:
        weight.assign(on_grid(rng, weight.shape))
    model = Tagger(encoder, tags, scheme, use_projection=False, dropout=0.0)
    sizes = [len(tags)] * 2, len(tags), len(tags)
    model.crf.set_scores(*(on_grid(rng, size) for size in sizes))
    return TextTagger(model, index, tokens)


def hmm_tagger(tokens="words", scheme="bio", seed=0):
    rng = np.random.default_rng(seed)
    index = indexer()
    hmm = HMMTagger(index.vocabulary_size, TAGS[scheme], scheme, use_end=True)
    for weight in hmm.weights:
        weight.assign(on_grid(rng, weight.shape))
    return TextTagger(hmm, index, tokens)


def document(rng, longest=300):
    words = rng.choice(WORDS, rng.integers(1, longest + 1))
    return "".join(word + rng.choice(["", *SPACES]) for word in words)


def pieces(rng, text):
    """Returns the text split at random places, in pieces of different sizes."""
    count = rng.integers(0, min(len(text), 2 ** rng.integers(1, 6)) + 1)
    cuts = sorted(rng.integers(0, len(text) + 1, count))
    return [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def check_document(tagger, rng, text, check_each=False, **options):
    """Asserts that a stream of random pieces of a text ends with the tags of the whole text."""
    stream = tagger.stream(**options)
    tokens, tags, shown, before = [], [], set(), ""
    parts = pieces(rng, text)
    updates = [stream.append(piece) for piece in parts]
    for part, update in zip([*parts, ""], [*updates, stream.close()], strict=True):
        tokens, tags = tokens + update.tokens, tags + update.tags
        shown = shown - {*update.retracted} | {*update.spans, *update.provisional_spans}
        before += part
        if check_each:
            so_far = tagger(before)
            assert tokens + update.provisional_tokens == so_far.tokens
            assert tags + update.provisional_tags == so_far.tags
            assert places(shown) == places(so_far.spans)
    whole = tagger(text)
    assert (tokens, tags) == (whole.tokens, whole.tags)
    assert places(shown) == places(whole.spans)
    for span in shown:
        assert text[span.start_char : span.end_char] == span.text
    return updates


def places(found):
    return sorted((s.start, s.end, s.type, s.text) for s in found)


def make(name, tokens, scheme, seed):
    if name == "hmm":
        return hmm_tagger(tokens, scheme, seed)
    more = {"unigram_offsets": (-1, 0), "bigram_offsets": (-3,)} if name == "left" else {}
    more |= {"trigram_offsets": (-1, 1)} if name == "window" else {}
    return linear_tagger(tokens, scheme, seed, **more)


KINDS = [
    ("hmm", "words", "bio"),
    ("window", "treebank", "bioes"),
    ("left", "spaces", None),
    ("hmm", "characters", "iob1"),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("name, tokens, scheme", KINDS)
def test_updates_have_the_tags_of_the_text_so_far(name, tokens, scheme):
    rng = np.random.default_rng(1)
    tagger = make(name, tokens, scheme, 3)
    check_document(tagger, rng, document(rng, 15), check_each=True)


@pytest.mark.slow
@pytest.mark.parametrize("name, tokens, scheme", KINDS)
def test_a_thousand_documents_of_each_model_equal_the_whole(name, tokens, scheme):
    rng = np.random.default_rng(2)
    tagger = make(name, tokens, scheme, 4)
    for _ in range(500):
        check_document(tagger, rng, document(rng))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hmm", "window"])
def test_scores_that_are_rounded(name):
    """The tags of a stream are those of the whole text, or have the same score up to rounding."""
    rng, tagger = np.random.default_rng(13), make(name, "words", "bioes", 14)
    for weight in tagger.model.weights:
        weight.assign(rng.normal(size=weight.shape))
    for _ in range(3):
        text = document(rng, 100)
        stream = tagger.stream()
        tags = [tag for part in pieces(rng, text) for tag in stream.append(part).tags]
        tags += stream.close().tags
        whole = tagger(text)
        features = tagger.indexer(tf.constant([whole.tokens]))
        emissions, mask, *scores = tagger.model._chain(features)
        found, expected = (
            chain.path_score(emissions, [[tagger.names.index(tag) for tag in each]], mask, *scores)
            for each in (tags, whole.tags)
        )
        assert_close(found, expected, terms=200)


def num_encoded(tagger, monkeypatch):
    """Returns a list to which the number of tokens of each window that is encoded is added."""
    counted, encode = [], tagger._emissions

    def count(rows):
        counted.extend(map(len, rows))
        return encode(rows)

    monkeypatch.setattr(tagger, "_emissions", count)
    return counted


@pytest.mark.parametrize("name", ["hmm", pytest.param("window", marks=pytest.mark.slow)])
@pytest.mark.parametrize("num_tokens", [1000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_cost_of_a_token_does_not_grow(name, num_tokens, monkeypatch):
    """The text so far and the tokens that are encoded again are bounded at every token."""
    tagger = make(name, "words", "bio", 5)
    encoded = num_encoded(tagger, monkeypatch)
    stream, rng, total = tagger.stream(), np.random.default_rng(6), 0
    while total < num_tokens:
        words = rng.choice(WORDS[:5], min(num_tokens - total, int(2 ** rng.integers(2, 9))))
        total += len(words)
        encoded.clear()
        update = stream.append(" ".join(words) + " ")
        assert len(update.provisional_tokens) < 100
        # New tokens, and for each window of 256 tokens its context: at most 2 tokens on each side.
        assert sum(encoded) <= 3 * len(words) + 100 + 4 * len(encoded)
        assert len(stream._tokens) < 150 and len(stream._text._held) < 50
    assert stream.close().provisional_tokens == []


def bilstm_tagger(units=4):
    keras.utils.set_random_seed(7)
    index = indexer()
    embedder = TokenEmbedder(index.vocabulary_size, embedding_dim=8)
    model = Tagger(BiLSTMEncoder(embedder, units=units), TAGS["bio"], "bio")
    model.crf.set_scores(on_grid(np.random.default_rng(8), [5, 5]))
    return TextTagger(model, index, "words")


@pytest.mark.slow
@pytest.mark.parametrize("stride", [None, 5])
def test_windows_that_hold_the_whole_text_give_the_tags_of_the_text(stride):
    rng, tagger = np.random.default_rng(9), bilstm_tagger()
    for _ in range(5):
        options = {"look_ahead": 99, "context": 99, "stride": stride}
        check_document(tagger, rng, document(rng, 20), **options)


def test_tags_of_short_windows_do_not_depend_on_the_pieces():
    rng, tagger = np.random.default_rng(10), bilstm_tagger()
    text = document(rng, 30)
    found = []
    for parts in [text], pieces(rng, text), pieces(rng, text):
        stream = tagger.stream(look_ahead=1, context=2, stride=3)
        found.append([tag for part in parts for tag in stream.append(part).tags])
        found[-1] += stream.close().tags
    assert found[0] == found[1] == found[2]
    emissions = [
        tagger._emissions([tokens[max(0, t - t % 3 - 2) : t - t % 3 + 4]])[
            0, min(2, t - t % 3) + t % 3
        ]
        for tokens in [tagger.tokenize([text])[0]]
        for t in range(len(tokens))
    ]
    outputs = {"emissions": np.array([emissions]), "mask": np.ones([1, len(emissions)], bool)}
    tags, _ = tagger.model.decode(outputs)
    assert found[0] == [tagger.names[tag] for tag in tags.numpy()[0]]


@pytest.mark.slow
def test_agreement_of_short_windows_with_the_whole_text():
    """A trained BiLSTM with two tokens of look-ahead: the tags follow from one or two words."""
    rng = np.random.default_rng(11)
    sentences = [labeling.sentence(rng) for _ in range(400)]
    index = TokenIndexer.from_sentences(sentences)
    names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    embedder = TokenEmbedder(index.vocabulary_size, embedding_dim=12)
    model = Tagger(BiLSTMEncoder(embedder, units=12), names, "bio", dropout=0.1)
    targets = [[names.index(tag) for tag in labeling.tag(tokens)] for tokens in sentences]
    batches = SequenceBatches(sentences, targets, index, batch_tokens=128, shuffle=True)
    model.compile(keras.optimizers.Adam(0.02))
    model.fit(batches.dataset(epochs=None), steps_per_epoch=20, epochs=6, verbose=0)
    tagger = TextTagger(model, index)
    text = " ".join(token for tokens in sentences[:60] for token in tokens)
    stream = tagger.stream(look_ahead=2, context=8, stride=4)
    tags = stream.append(text).tags + stream.close().tags
    whole = tagger(text).tags
    assert np.mean([a == b for a, b in zip(tags, whole, strict=True)]) > 0.97


@pytest.mark.slow
def test_a_stream_of_a_bert():
    cut = tiny_bert.pieces("hotels", "room")
    bert = tiny_bert.make_encoder(cut, pooler=False)
    model = Tagger(PieceEncoder(bert, cut.start_id, cut.separator_id), ["A", "B"], dropout=0.0)
    tagger = TextTagger(model, PieceIndexer(cut, words=True), "bert", max_length=24)
    text = "hotels\x00 room, 房间 room"
    rng = np.random.default_rng(12)
    for _ in range(3):
        check_document(tagger, rng, text, look_ahead=9, context=9)
    with pytest.raises(ValueError, match="at most 22 pieces"):
        tagger.stream(look_ahead=9, context=9).append("hotels " * 20)


def test_max_pending_of_a_stream():
    tagger = hmm_tagger(scheme=None)
    steps = np.where(np.eye(3), 0.0, -np.inf)
    tagger.model.log_transitions.assign(steps)
    text = "Ada Rome saw " * 20
    undecided = tagger.stream().append(text).provisional_tokens
    assert len(undecided) == 60
    update = tagger.stream(max_pending=10).append(text)
    assert len(update.tokens) >= 50 and len({*update.tags, *update.provisional_tags}) == 1


def test_an_update_as_a_dict():
    update = linear_tagger().stream().append("Ada")
    found = update.asdict()
    assert found["provisional_tokens"] == ["Ada"] and found["retracted"] == []
    assert json.loads(json.dumps(found)) == found
    assert found["provisional_spans"] == [span._asdict() for span in update.provisional_spans]


def test_wrong_calls():
    linear, bilstm = linear_tagger(), bilstm_tagger()
    for options, message in [
        ({"look_ahead": 3}, "`look_ahead` does not apply to a model on a LinearEncoder, .* got 3"),
        ({"stride": 2}, "`stride` does not apply"),
        ({"max_pending": 0}, "`max_pending` must be at least 1; got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            linear.stream(**options)
    with pytest.raises(ValueError, match="`look_ahead` and `context` must be .* a BiLSTMEncoder"):
        bilstm.stream(look_ahead=3)
    with pytest.raises(ValueError, match="`context` must be at least 0; got -1"):
        bilstm.stream(look_ahead=3, context=-1)
    stream = linear.stream()
    with pytest.raises(ValueError, match=r"`text` must be a str; got \['Ada'\]"):
        stream.append(["Ada"])
    assert stream.close().tokens == []
    with pytest.raises(ValueError, match="The stream is closed"):
        stream.append("Ada")
    linear.model.bias.assign(np.full(5, np.nan, "float32"))
    with pytest.raises(
        ValueError, match="below infinity; got NaN or infinity for the tokens 'Ada'"
    ):
        linear.stream().append("Ada ")


def test_vectors_cannot_be_streamed():
    embedder = TokenEmbedder(vector_layers=1, vector_dim=4)
    tagger = TextTagger(Tagger(embedder, ["A"]), indexer())
    with pytest.raises(ValueError, match="A stream needs a model that reads only text"):
        tagger.stream()


def test_a_stream_after_the_weights_have_changed():
    tagger, found = linear_tagger(seed=1), []
    features = tagger.indexer(tf.constant([["Ada"]]))
    for _ in range(2):
        [[tag]] = tagger.model.decode(features)[0].numpy()
        found += tagger.stream().append("Ada ").provisional_tags
        assert found[-1] == tagger.names[tag]
        for weight in tagger.model.encoder.weights:
            weight.assign(-weight)
    assert found[0] != found[1]
