"""Every method of a loaded model that reads several texts reads any iterable of them."""

import numpy as np
import pytest

from tests import tiny_bert
from tests.closeness import assert_close
from tfreps.inference import TextBert, TextBiLM, TextClassifier, TextEmbedder, TextTagger
from tfreps.models import (
    BiLM,
    Classifier,
    HMMTagger,
    SentenceEmbedder,
    Tagger,
    TokenEmbedder,
)
from tfreps.text import TokenIndexer

pytestmark = pytest.mark.usefixtures("eager_if_quick")

TEXTS = ["the river", "bank"]
ITERABLES = {
    "file": lambda file: file,
    "generator": lambda file: (text for text in TEXTS),
    "map": lambda file: map(str.strip, TEXTS),
    "tuple": lambda file: tuple(TEXTS),
    "list": lambda file: TEXTS,
}


@pytest.fixture(params=ITERABLES)
def texts(request, tmp_path):
    """Returns a function that makes an iterable of the texts."""
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    with open(path, encoding="utf-8") as file:

        def make():
            file.seek(0)
            return ITERABLES[request.param](file)

        yield make


@pytest.fixture(scope="module")
def indexer():
    return TokenIndexer.from_sentences([["the", "river", "bank"]])


@pytest.fixture(scope="module")
def tagger(indexer):
    embedder = TokenEmbedder(indexer.vocabulary_size, 4)
    return TextTagger(Tagger(embedder, ["A", "B"], use_crf=False), indexer)


@pytest.fixture(scope="module")
def classifier(indexer):
    embedder = TokenEmbedder(indexer.vocabulary_size, 4)
    return TextClassifier(Classifier(embedder, ["no", "yes"]), indexer)


@pytest.fixture(scope="module")
def embedder(indexer):
    model = SentenceEmbedder(TokenEmbedder(indexer.vocabulary_size, 4))
    return TextEmbedder(model, indexer)


@pytest.fixture(scope="module")
def bilm():
    return TextBiLM(BiLM(filters=[[1, 8]], units=8, projection_dim=4))


@pytest.fixture(scope="module")
def bert():
    tokenizer = tiny_bert.pieces("the", "river", "bank")
    return TextBert(tiny_bert.make_encoder(tokenizer), tokenizer)


@pytest.mark.few(1)
def test_a_tagger(tagger, texts):
    for read in (tagger, tagger.tag):
        assert [found.tokens for found in read(texts())] == [["the", "river"], ["bank"]]
    assert tagger.tokenize(texts()) == [["the", "river"], ["bank"]]
    assert tagger.batches(text.split() for text in texts()).num_sentences == 2


@pytest.mark.slow
def test_likely_spans(indexer):
    model = HMMTagger(indexer.vocabulary_size, ["O", "B-X"], scheme="bio")
    spans = TextTagger(model, indexer).likely_spans(iter(TEXTS), threshold=0.2)
    assert [{span.text for span in found} for found in spans] == [{"the", "river"}, {"bank"}]


@pytest.mark.few(2)
def test_a_classifier(classifier, texts):
    for read in (classifier, classifier.classify):
        assert list(map(repr, read(texts()))) == list(map(repr, read(list(texts()))))
        assert len(read(texts())) == 2
    tokens = (text.split() for text in texts())
    assert [found.text for found in classifier(tokens)] == [None, None]


@pytest.mark.few(2)
def test_an_embedder(embedder, texts):
    expected = np.stack([embedder(text).vectors for text in TEXTS])
    for read in (embedder, embedder.embed):
        assert_close(read(texts()).vectors, expected)
    cosines = embedder.similarity(texts(), iter(TEXTS))
    assert cosines.diagonal() == pytest.approx([1.0, 1.0])


@pytest.mark.few(1)
def test_a_bilm(bilm, texts):
    assert [found.tokens for found in bilm(texts())] == [["the", "river"], ["bank"]]
    assert [vectors.shape for vectors in bilm.encode(texts())] == [(3, 2, 8), (3, 1, 8)]


@pytest.mark.slow
def test_a_sentence_encoder(bilm):
    encoder = bilm.sentence_encoder(layers="top")
    encoder.cache_tokens(token for token in ["river"])
    assert [number for number, _ in encoder.encode(map(str.split, TEXTS))] == [1, 0]


@pytest.mark.few(1)
def test_a_bert(bert, texts):
    for read in (bert, bert.encode):
        assert [found.tokens[1:-1] for found in read(texts())] == [["the", "rive", "##r"], ["bank"]]
    assert bert.tokenizer.build_batch(texts())["mask"].sum() == 8


def test_errors_name_what_is_no_text(tagger):
    with pytest.raises(ValueError, match=r"`texts\[1\]` must be a string; got None"):
        tagger(text for text in ["bank", None])
    with pytest.raises(ValueError, match="`texts` must be a list of texts; got the string 'bank'"):
        tagger.tag("bank")
