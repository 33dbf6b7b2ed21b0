"""Trained taggers tag raw texts and lists of tokens."""

import numpy as np
import pytest

from tests import known_models, tiny_bert
from tests.closeness import assert_close
from tests.known_models import WORDS, softmax
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps.inference import TextSpan, TextTagger
from tfreps.models import Classifier, PieceEncoder, Tagger, TokenEmbedder
from tfreps.text import TokenIndexer


@pytest.fixture(scope="module")
def tagger():
    """Returns the tags word by word: softmax(WORDS[word])."""
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
        TextSpan("PER", 0, 1, "Ada", first),
        TextSpan("LOC", 4, 5, "Rome", last),
    ]
    assert "TextSpan(type='PER', start=0, end=1, text='Ada', confidence=0.8438)" in repr(answer)


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
