"""Fitted temperatures, compared with closed forms, enumerated sequences and sampled tags."""

import numpy as np
import pytest

from docs.by_hand import calibration, crf
from tests.closeness import assert_close
from tests.known_models import TAGS, TEXTS, VOCABULARY, WORDS, embedder, softmax
from tfreps._src.inference.temperature import fit_temperature
from tfreps.inference import TextClassifier, TextTagger
from tfreps.models import Classifier, HMMTagger, Tagger
from tfreps.tags import illegal_transitions
from tfreps.text import TokenIndexer

pytestmark = pytest.mark.usefixtures("eager_if_quick")

INDEXER = TokenIndexer(VOCABULARY)
TRANSITIONS = np.array([[1.0, 0.5, -1.0], [0.0, -2.0, 2.0], [0.5, 0.0, 1.0]], "float32")
SENTENCES = ["Ada saw Rome".split(), "Rome slept".split(), ["Ada"], "saw Ada Rome Ada".split()]
GOLD = [["B-PER", "O", "B-PER"], ["B-LOC", "O"], ["O"], ["O", "B-PER", "B-LOC", "B-LOC"]]


def classifier(temperature=1.0):
    model = Classifier(embedder(TEXTS, 2), ["bad", "good"], temperature=temperature)
    model.kernel.assign(np.eye(2, dtype="float32"))
    return TextClassifier(model, INDEXER)


def tagger(use_crf=True, factor=1.0, **options):
    """Returns a tagger with the emissions WORDS and, with a CRF, TRANSITIONS, times a factor."""
    model = Tagger(embedder(WORDS, 3), TAGS, use_crf=use_crf, **options)
    model.kernel.assign(np.eye(3, dtype="float32") * factor)
    if use_crf:
        model.crf.set_scores(TRANSITIONS * factor, [0.5, 1, 0], [1, 0, 0.5])
    return TextTagger(model, INDEXER)


def hmm():
    model = HMMTagger(len(VOCABULARY), TAGS, unknown_id=3)
    ids = [INDEXER([tokens])["token_ids"].numpy()[0] for tokens in SENTENCES]
    model.fit_counts(ids, [[TAGS.index(tag) for tag in tags] for tags in GOLD], smoothing=0.3)
    return TextTagger(model, INDEXER)


def paths(trained, tokens):
    """Returns a dict from the tags of every sequence of a sentence to its score."""
    chain = trained.model._chain(INDEXER([tokens]))
    emissions, _, *scores = (np.asarray(part, "float64") for part in chain)
    found = crf.all_scores(emissions[0], *scores)
    return {tuple(TAGS[tag] for tag in path): score for path, score in found.items()}


def scored(trained):
    """Returns the arguments of docs/by_hand/calibration.py for SENTENCES and GOLD."""
    pairs = zip(SENTENCES, GOLD, strict=True)
    return [(paths(trained, tokens), tuple(tags)) for tokens, tags in pairs]


def mean_nll(sentences, temperature):
    total = calibration.negative_log_likelihood(temperature, sentences)
    return total / sum(map(len, SENTENCES))


def test_of_a_classifier_is_the_closed_form():
    """The logits of "Rome" are 0 and 2, so 3 good texts of 4 need softmax([0, 2 / T]) = 3/4."""
    texts, labels = [["Rome"]] * 4, ["good", "bad", "good", "good"]
    found = fit_temperature(classifier(), texts, labels)
    assert_close(found.temperature, 2 / np.log(3))
    assert_close(found.nll_after, -(3 * np.log(3 / 4) + np.log(1 / 4)) / 4)
    assert_close(found.nll_before, -np.log(softmax([0, 2])) @ [1 / 4, 3 / 4])
    again = fit_temperature(classifier(temperature=5.0), texts, labels)  # fitted anew
    assert again.temperature == found.temperature
    assert_close(again.nll_before, -np.log(softmax([0, 2 / 5])) @ [1 / 4, 3 / 4])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "make",
    [tagger, lambda: tagger(use_crf=False), lambda: tagger(scheme="bio"), hmm],
    ids=["crf", "softmax", "scheme", "hmm"],
)
def test_of_a_tagger_has_the_lowest_nll_of_enumerated_sequences(make):
    trained = make()
    found = fit_temperature(trained, SENTENCES, GOLD)
    assert found.left_out == 0
    sentences = scored(trained)
    assert_close(found.nll_before, mean_nll(sentences, 1.0))
    assert_close(found.nll_after, mean_nll(sentences, found.temperature))
    for near in found.temperature * 1.01, found.temperature / 1.01:
        assert mean_nll(sentences, near) > mean_nll(sentences, found.temperature)
    assert found.temperature == pytest.approx(calibration.fit_temperature(sentences), rel=1e-4)


@pytest.mark.slow
def test_the_factor_of_scaled_scores_is_found():
    """Tags are sampled from a CRF whose scores are those of the tagger, divided by 2.5."""
    factor, count = 2.5, 500
    rng = np.random.default_rng(0)
    sharp = tagger()
    gold, variance = [], 0.0
    for tokens in SENTENCES:
        sequences, scores = zip(*paths(sharp, tokens).items(), strict=True)
        shares = softmax(np.array(scores) / factor)
        gold += [sequences[i] for i in rng.choice(len(shares), count, p=shares)]
        variance += count * (shares @ np.square(scores) - np.square(shares @ scores))
    sentences = [tokens for tokens in SENTENCES for _ in range(count)]
    found = fit_temperature(sharp, sentences, gold)
    # The standard error of 1 / T is that of a maximum likelihood estimate, 1 / sqrt(information).
    assert abs(1 / found.temperature - 1 / factor) < 3 / np.sqrt(variance)
    assert 3 / np.sqrt(variance) < 0.1 / factor


@pytest.mark.slow
def test_sentences_with_forbidden_tags_are_left_out():
    trained = TextTagger(tagger(scheme=None).model, INDEXER)
    strict = Tagger(embedder(WORDS, 3), ["O", "B-X", "I-X"], "bio", constrain="decode")
    strict.set_weights(trained.model.get_weights())
    names = dict(zip(TAGS, strict.tags, strict=True))
    gold = [[names[tag] for tag in tags] for tags in GOLD]
    illegal = [bool(illegal_transitions(tags, "bio")) for tags in gold]
    assert any(illegal) and not all(illegal)
    given = [(s, t) for s, t, wrong in zip(SENTENCES, gold, illegal, strict=True) if not wrong]
    found = fit_temperature(TextTagger(strict, INDEXER), SENTENCES, gold)
    legal = fit_temperature(TextTagger(strict, INDEXER), *zip(*given, strict=True))
    assert (found.left_out, legal.left_out) == (sum(illegal), 0)
    assert_close(found.temperature, legal.temperature)
    assert_close(found.nll_after, legal.nll_after)


@pytest.mark.slow
def test_data_without_a_best_temperature():
    with pytest.raises(ValueError, match="all predictions for the data are right"):
        fit_temperature(classifier(), [["Rome"], ["Ada"]], ["good", "bad"])
    with pytest.raises(ValueError, match="No temperature between 0.01 and 100.0 minimizes"):
        fit_temperature(classifier(), [["Rome"], ["Ada"]], ["bad", "good"])
