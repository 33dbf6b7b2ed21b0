"""Trained classifiers label raw texts and lists of tokens."""

import numpy as np
import pytest

from tests import known_models, tiny_bert
from tests.closeness import assert_close
from tests.known_models import TEXTS, softmax
from tfreps.inference import ClassifiedText, TextClassifier
from tfreps.models import Classifier, HMMTagger
from tfreps.text import PieceIndexer, TokenIndexer


@pytest.fixture(scope="module")
def classifier():
    """Returns a classifier that computes softmax(mean(TEXTS[word])) of the first three words."""
    model = Classifier(known_models.embedder(TEXTS, 2), ["bad", "good"])
    model.kernel.assign(np.eye(2, dtype="float32"))
    return TextClassifier(model, TokenIndexer(known_models.VOCABULARY), "words", max_length=3)


def test_one_raw_text(classifier):
    answer = classifier("Ada")
    share = float(softmax(TEXTS["Ada"])[0])
    assert isinstance(answer, ClassifiedText) and answer.label == "bad"
    assert_close(answer.confidence, share)
    assert [found.label for found in classifier(["Rome", ["Ada"]])] == ["good", "bad"]
    assert classifier.classify([]) == [] and classifier.names == ["bad", "good"]


def test_labels_and_their_probabilities(classifier):
    texts = [["Ada", "saw"], ["Rome"], [], ["Ada", "Ada", "Ada", "Rome", "Rome"]]
    before = classifier.num_truncated
    answers = classifier.classify(texts)
    assert classifier.num_truncated == before + 1
    assert [answer.label for answer in answers] == ["bad", "good", "bad", "bad"]
    for tokens, answer in zip(texts, answers, strict=True):
        cut = tokens[:3]  # `max_length` is 3
        mean = np.mean([TEXTS[token] for token in cut], axis=0) if cut else [0, 0]
        expected = softmax(mean)
        assert list(answer.probabilities) == ["bad", "good"]
        assert_close(list(answer.probabilities.values()), expected)


def on_a_bert(max_length=24):
    """Returns an untrained classifier on a BERT with 24 positions."""
    tokenizer = tiny_bert.pieces("房", "间", "hotels")
    bert = tiny_bert.make_encoder(tokenizer, pooler=False)
    indexer = PieceIndexer(tokenizer)
    return TextClassifier(Classifier(bert, ["a", "b"]), indexer, "bert", max_length)


@pytest.mark.slow
def test_a_classifier_on_a_bert_reads_pieces():
    texts = ["房间hotels", "", "房" * 50, "x"]
    trained = on_a_bert()
    rows = trained.tokenize(texts)
    assert rows[0] == ["[CLS]", "房", "间", "hote", "##ls", "[SEP]"]
    assert rows[1] == ["[CLS]", "[SEP]"] and rows[3] == ["[CLS]", "[UNK]", "[SEP]"]
    assert rows[2] == ["[CLS]", *["房"] * 22, "[SEP]"] and trained.max_length == 24
    together = [answer.probabilities["a"] for answer in trained.classify(rows)]
    alone = [trained.classify([row])[0].probabilities["a"] for row in rows]
    assert_close(together, alone)
    assert len(set(np.round(alone, 3))) == 4
    shorter = on_a_bert(5)
    assert shorter.tokenize(texts)[0] == ["[CLS]", "房", "间", "hote", "[SEP]"]
    assert trained.num_truncated == 1 and shorter.num_truncated == 2
    assert shorter.truncation_message() == "2 texts were truncated to 5 tokens, as in training."


def test_a_tagger_is_no_classifier():
    with pytest.raises(ValueError, match="`model` must be a Classifier; got a HMMTagger"):
        TextClassifier(HMMTagger(9, ["A"]), None)
