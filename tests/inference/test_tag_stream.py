"""Streams of text have the tags of the whole text, and their cost does not grow."""

import numpy as np
import pytest

from tests import known_models
from tfreps._src.inference.chain_stream import ChainStream
from tfreps.inference import TagStream, TextTagger
from tfreps.models import (
    BiLSTMEncoder,
    HMMTagger,
    LinearEncoder,
    Tagger,
    TokenEmbedder,
)
from tfreps.text import TokenIndexer
from tfreps.text.tags import spans

WORDS = "Ada Rome saw 3.50 U.N. didn't Mr. 中文 café e\u0301a ❤\ufe0f 👩\u200d👧 , . ... end. ( ) ' \"".split()
SPACES = [" ", " ", " ", "\n", "\r\n", "\u3000", "  ", "\t"]
TAGS = {
    "bio": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
    "iob1": ["O", "I-PER", "B-PER", "I-LOC", "B-LOC"],
    "bioes": ["O", "B-X", "I-X", "E-X", "S-X"],
    None: ["N", "V", "D"],
}
METHODS = "spaces", "characters", "words", "treebank"


def on_grid(rng, shape):
    """Returns scores whose sums are exact in float32, so that ties are ties in any order of sums."""
    return rng.integers(-12, 13, shape).astype("float32") / 8


def indexer():
    return TokenIndexer.from_sentences([WORDS, list("".join(WORDS)), ["Ada"]])


def linear_tagger(tokens="words", scheme="bio", seed=0, constrain="both", **options):
    rng = np.random.default_rng(seed)
    index, tags = indexer(), TAGS[scheme]
    encoder = LinearEncoder(index.vocabulary_size, len(tags), num_buckets=64, **options)
    for weight in encoder.weights:
        weight.assign(on_grid(rng, weight.shape))
    model = Tagger(encoder, tags, scheme, use_projection=False, dropout=0.0, constrain=constrain)
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


@pytest.mark.few(2)
@pytest.mark.parametrize("name, tokens, scheme", KINDS)
def test_updates_have_the_tags_of_the_text_so_far(name, tokens, scheme):
    rng = np.random.default_rng(1)
    tagger = make(name, tokens, scheme, 3)
    for _ in range(4):
        check_document(tagger, rng, document(rng, 30), check_each=True)


@pytest.mark.slow
@pytest.mark.parametrize("name, tokens, scheme", KINDS)
def test_a_thousand_documents_of_each_model_equal_the_whole(name, tokens, scheme):
    rng = np.random.default_rng(2)
    tagger = make(name, tokens, scheme, 4)
    for _ in range(500):
        check_document(tagger, rng, document(rng))
