"""Evaluation of models with known predictions, compared with manual counts."""

import numpy as np
import pytest

from tests import known_models
from tests.closeness import assert_close
from tests.known_models import TEXTS, softmax
from tfreps import load
from tfreps._src.reports.evaluation import evaluate_classifier, evaluate_tagger
from tfreps.data import LabeledText, TaggedSentence
from tfreps.inference import TextClassifier, TextTagger
from tfreps.models import Classifier

pytestmark = pytest.mark.usefixtures("eager_if_quick")


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    run = known_models.tagger_run(tmp_path_factory.mktemp("tagger") / "run")
    trained = load(run.path)
    trained.model.compile(run_eagerly=True)
    return trained


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    run = known_models.classifier_run(tmp_path_factory.mktemp("classifier") / "run")
    return load(run.path)


def sentence(tokens, tags, line=1):
    return TaggedSentence(tokens.split(), tags.split(), "test.conll", line)


# Predictions of the tagger:  B-PER O B-LOC; O B-LOC.
SENTENCES = [
    sentence("Ada saw Rome", "B-PER O B-PER"),
    sentence("slept Rome", "O B-LOC", line=5),
]


@pytest.mark.slow
def test_tagger(tagger):
    results = evaluate_tagger(tagger, SENTENCES)
    assert (results["sentences"], results["tokens"], results["accuracy"]) == (2, 5, 0.8)
    spans = results["spans"]
    assert_close(spans["micro"], {"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3, "support": 3})
    assert_close(
        spans["types"]["PER"], {"precision": 1, "recall": 1 / 2, "f1": 2 / 3, "support": 2}
    )
    assert results["illegal_transitions"]["illegal"] == 0
    assert results["confusion"] == [[2, 0, 0], [0, 1, 1], [0, 0, 1]]  # O, B-PER, B-LOC
    # Precision 1, 1, 1/2 and recall 1, 1/2, 1 of O, B-PER, B-LOC, which occur 2, 2, 1 times.
    assert_close(results["weighted"]["precision"], (2 * 1 + 2 * 1 + 1 / 2) / 5)
    assert_close(results["weighted"]["recall"], (2 * 1 + 2 / 2 + 1) / 5)


def test_tags_without_a_scheme_are_reported_one_by_one(tagger):
    plain = TextTagger(tagger.model, tagger.indexer)
    plain.scheme = None
    results = evaluate_tagger(plain, SENTENCES)
    assert "spans" not in results and results["labels"]["B-LOC"]["precision"] == 0.5


def texts(*pairs):
    return [LabeledText(text, label, "test.tsv", n) for n, (label, text) in enumerate(pairs, 1)]


DATA = texts(("bad", "Ada"), ("good", "saw"), ("good", "Rome Rome"), ("good", "slept"))


def test_classifier(classifier):
    tokens = classifier.tokenize([text.text for text in DATA])
    assert "threshold" not in evaluate_classifier(classifier, tokens, DATA)
    results = evaluate_classifier(classifier, tokens, DATA, "best")
    assert results["texts"] == 4 and results["accuracy"] == 0.75
    assert results["confusion"] == [[1, 0], [1, 2]]
    # Probabilities of "good": Ada .12, saw .27, Rome .88, slept .73: all above the bad text.
    assert results["auc"] == 1.0
    assert_close(results["threshold"], softmax(TEXTS["saw"])[1])
    assert results["at_threshold"]["f1"] == results["at_threshold"]["accuracy"] == 1.0
    at_half = evaluate_classifier(classifier, tokens, DATA, threshold=0.5)
    assert at_half["threshold"] == 0.5
    assert_close(at_half["at_threshold"]["f1"], 2 * 2 / (2 + 3))


def test_one_label_among_the_data_has_no_auc(classifier):
    data = texts(("good", "Rome"), ("good", "Ada"))
    results = evaluate_classifier(classifier, [["Rome"], ["Ada"]], data)
    assert results["accuracy"] == 0.5 and "auc" not in results and "threshold" not in results
    assert results["labels"]["bad"]["support"] == 0
    assert np.array(results["confusion"]).tolist() == [[0, 0], [1, 1]]


def test_a_threshold_for_three_labels(classifier):
    three = TextClassifier(
        Classifier(classifier.model.encoder, ["a", "b", "c"]), classifier.indexer
    )
    with pytest.raises(ValueError, match="`threshold` requires .* two labels; this model has 3"):
        evaluate_classifier(three, [["Rome"]], texts(("a", "Rome")), threshold=0.5)
