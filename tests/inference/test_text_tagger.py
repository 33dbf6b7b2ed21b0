"""Trained taggers tag raw texts and lists of tokens."""

import numpy as np
import pytest

from tests import known_models, tiny_bert
from tests.closeness import assert_close
from tests.known_models import WORDS, softmax
from tfreps.inference import TextSpan, TextTagger
from tfreps.models import Classifier, PieceEncoder, Tagger, TokenEmbedder
from tfreps.text import PieceIndexer, TokenIndexer

pytestmark = pytest.mark.usefixtures("eager_if_quick")


@pytest.fixture(scope="module")
def tagger():
    """Returns a tagger whose probabilities for a word are softmax(WORDS[word])."""
    model = Tagger(known_models.embedder(WORDS, 3), known_models.TAGS, "bio", use_crf=False)
    model.kernel.assign(np.eye(3, dtype="float32"))
    return TextTagger(model, TokenIndexer(known_models.VOCABULARY), "words")


def test_one_raw_text(tagger):
    answer = tagger("Ada, saw: Rome")
    assert answer.tokens == ["Ada", ",", "saw", ":", "Rome"]
    assert answer.tags == ["B-PER", "O", "O", "O", "B-LOC"]
    expected = [softmax(WORDS.get(token, [0, 0, 0])).max() for token in answer.tokens]
    assert_close(answer.confidences, expected)
    first, last = answer.confidences[0], answer.confidences[-1]
    assert answer.spans == [
        TextSpan("PER", 0, 1, "Ada", answer.spans[0].confidence, 0, 3),
        TextSpan("LOC", 4, 5, "Rome", answer.spans[1].confidence, 10, 14),
    ]
    assert_close([span.confidence for span in answer.spans], [first, last])
    assert "text='Ada', confidence=0.8438, start_char=0, end_char=3)" in repr(answer)


def test_spans_have_the_characters_of_the_raw_text():
    """The words of a BERT tokenizer lack soft hyphens, which the text of a span has."""
    cut = tiny_bert.pieces("ada")
    encoder = PieceEncoder(
        tiny_bert.make_encoder(cut, pooler=False), cut.start_id, cut.separator_id
    )
    model = Tagger(encoder, ["B-PER"], "bio", use_crf=False)  # every word is a span
    model.compile(run_eagerly=True)
    trained = TextTagger(model, PieceIndexer(cut, words=True), "bert")
    text = "\u200b A\u00adda\u0301  e\u0301中👩\u200d🚀"
    answer = trained(text)
    assert answer.tokens == ["Ada\u0301", "e\u0301", "中", "👩🚀"]
    assert [(span.start_char, span.end_char) for span in answer.spans] == [
        *((2, 7), (9, 11), (11, 12), (12, 15))
    ]
    for span in answer.spans:
        assert span.text == text[span.start_char : span.end_char]
    assert answer.spans[0].text == "A\u00adda\u0301"


def test_likely_spans_with_and_without_overlaps(tagger):
    """In "Ada", the types have the probabilities 0.84 and 0.11; unknown words have 1/3 each."""
    texts = ["Ada saw Rome", "", ["Max"], "Ada  Ada"]
    found = tagger.likely_spans(texts, threshold=0.1)
    words = [[word for word in text.split()] if isinstance(text, str) else text for text in texts]
    for text, tokens, spans in zip(texts, words, found, strict=True):
        expected = {
            (known_models.TAGS[tag][2:], n, n + 1): share
            for n, token in enumerate(tokens)
            for tag, share in enumerate(softmax(WORDS.get(token, [0, 0, 0])))
            if tag and share >= 0.1
        }
        assert_close({span[:3]: span.confidence for span in spans}, expected)
        assert [s.confidence for s in spans] == sorted((s.confidence for s in spans), reverse=True)
        if isinstance(text, str):
            assert all(span.text == text[span.start_char : span.end_char] for span in spans)
    [alone] = tagger.likely_spans(["Ada saw Rome"], threshold=0.1, overlapping=False)
    assert [span[:3] for span in alone] == [("PER", 0, 1), ("LOC", 2, 3)]
    assert [len(spans) for spans in found] == [4, 0, 2, 4]
    with pytest.raises(ValueError, match="`threshold` must be a probability"):
        tagger.likely_spans(["Ada"], threshold=0)


@pytest.mark.slow
def test_one_trace_serves_all_shapes(tagger, monkeypatch):
    traced, step = [], Tagger.predict_step
    monkeypatch.setattr(
        Tagger, "predict_step", lambda model, data: traced.append(1) or step(model, data)
    )
    tagger.model.predict_function = None  # as after `quantize`
    for texts in (["Ada"], ["Ada saw Rome"], ["Ada saw", "Rome", ""], ["Ada"], ["Ada", "Rome x"]):
        for batch_tokens in 100, 2:  # one batch, and several
            answers = tagger.tag(texts, batch_tokens=batch_tokens)
            assert [answer.tokens for answer in answers] == [text.split() for text in texts]
    assert len(traced) == 1


@pytest.mark.slow
def test_raw_texts_and_lists_of_tokens_together(tagger):
    answers = tagger.tag(["Ada saw", ["Rome"], "", []])
    assert [answer.tokens for answer in answers] == [["Ada", "saw"], ["Rome"], [], []]
    assert [answer.tags for answer in answers] == [["B-PER", "O"], ["B-LOC"], [], []]
    assert answers[1].spans[0].text == "Rome" and tagger([]) == []
    with pytest.raises(ValueError, match="must be a list of texts; got the string 'Ada saw'"):
        tagger.tag("Ada saw")


def test_tags_and_their_probabilities(tagger):
    sentences = [["Ada", "saw", "Rome"], [], ["slept"], ["Max", "saw", "Ada", "Ada"]]
    answers = tagger.tag(sentences)
    assert [answer.tags for answer in answers] == [
        ["B-PER", "O", "B-LOC"],
        [],
        ["O"],
        ["O", "O", "B-PER", "B-PER"],  # Max is unknown: all tags are equal, and O is the first
    ]
    for tokens, answer in zip(sentences, answers, strict=True):
        expected = [softmax(WORDS.get(token, [0, 0, 0])).max() for token in tokens]
        assert_close(answer.confidences, expected)
    assert tagger.tag([]) == []


@pytest.mark.slow
def test_many_sentences_keep_their_order(tagger):
    rng = np.random.default_rng(0)
    sentences = [list(rng.choice(list(WORDS), rng.integers(0, 40))) for _ in range(60)]
    answers = tagger.tag(sentences, batch_tokens=100)
    for tokens, answer in zip(sentences, answers, strict=True):
        names = [known_models.TAGS[int(np.argmax(WORDS[token]))] for token in tokens]
        assert answer.tags == names


@pytest.mark.slow
def test_a_tagger_on_a_bert_reads_words():
    cut = tiny_bert.pieces("房", "间", "hotels")
    bert = tiny_bert.make_encoder(cut, pooler=False)
    model = Tagger(PieceEncoder(bert, cut.start_id, cut.separator_id), ["A", "B"])
    trained = TextTagger(model, PieceIndexer(cut, words=True), "words", max_length=24)
    sentences = trained.tokenize(["hotels 房间", "", "hotels"])
    assert sentences == [["hotels", "房间"], [], ["hotels"]]
    together = trained.tag(sentences)
    assert [len(answer.tags) for answer in together] == [2, 0, 1]
    for sentence, answer in zip(sentences, together, strict=True):
        alone = trained.tag([sentence])[0]
        assert_close(answer.confidences, alone.confidences)
    with pytest.raises(ValueError, match="Sentence 1 .* at most 22 pieces .* got 24"):
        trained.tag([["房"], ["hotels"] * 12])


def test_a_classifier_is_no_tagger():
    words = TokenEmbedder(vocabulary_size=9, embedding_dim=2)
    with pytest.raises(ValueError, match="`model` must be a Tagger or HMMTagger; got a Classifier"):
        TextTagger(Classifier(words, ["A"]), None)


def test_a_length_without_a_bert(tagger):
    with pytest.raises(
        ValueError, match="`max_length` does not apply to a tagger without a BERT .*; got 3"
    ):
        TextTagger(tagger.model, tagger.indexer, "words", max_length=3)
