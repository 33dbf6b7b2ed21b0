"""Explanations of predictions, compared with an enumeration of all sequences."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import crf
from tests import tiny_bert
from tests.closeness import assert_close
from tests.exported_models import make_bert
from tfreps._src.export.explanations import LOWEST, explain_attention, explain_label, explain_tags
from tfreps.models import Classifier, HMMTagger, Tagger, TokenEmbedder
from tfreps.tags import illegal_transitions

pytestmark = pytest.mark.usefixtures("eager_if_quick")

TAGS = ["O", "B-X", "I-X"]
IDS = np.array([[1, 2, 3], [2, 0, 0], [0, 0, 0]], "int32")


def tagger(use_crf):
    model = Tagger(TokenEmbedder(3, 3), TAGS, "bio", use_crf=use_crf)
    for number, weight in enumerate(model.trainable_weights):
        weight.assign(keras.random.normal(weight.shape, seed=number))
    return model


def hmm():
    model = HMMTagger(3, TAGS, unknown_id=3)
    model.fit_counts([[1, 2, 1], [2, 2]], [[0, 1, 2], [1, 0]])
    return model


def all_paths(model, emissions, legal):
    """Returns every tag sequence and its score for one sentence `[T, K]`."""
    if isinstance(model, HMMTagger):
        scores = model._scores()
    else:
        scores = model.crf.transitions, model.crf.start_scores, model.crf.end_scores
    scores = [np.asarray(part, "float64") for part in (emissions, *scores)]
    for path, score in crf.all_scores(*scores).items():
        names = [TAGS[tag] for tag in path]
        if not (legal and illegal_transitions(names, "bio")):
            yield names, score


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["crf", "softmax", "hmm"])
def test_paths_and_marginals(kind):
    model = hmm() if kind == "hmm" else tagger(kind == "crf")
    found = {n: v.numpy() for n, v in explain_tags(model, {"token_ids": tf.constant(IDS)}).items()}
    emissions = np.asarray(model({"token_ids": tf.constant(IDS)})["emissions"])
    for row, length in enumerate((3, 1, 0)):
        paths = sorted(
            all_paths(model, emissions[row, :length], kind != "hmm"), key=lambda p: -p[1]
        )
        weights = np.exp([score for _, score in paths])
        shares = weights / weights.sum()
        k = min(5, len(paths))
        names = [[n.decode() for n in path] for path in found["path_tags"][row]]
        assert names[:k] == [[*path, *[""] * (3 - length)] for path, _ in paths[:k]]
        assert_close(found["path_probabilities"][row, :k], shares[:k])
        assert_close(found["path_scores"][row, :k], np.log(shares[:k]))
        assert names[k:] == [[""] * 3] * (5 - k) and not found["path_probabilities"][row, k:].any()
        assert (found["path_scores"][row, k:] == LOWEST).all()
        for t, tag in itertools.product(range(length), range(3)):
            share = sum(s for (p, _), s in zip(paths, shares, strict=True) if p[t] == TAGS[tag])
            assert_close(found["marginals"][row, t, tag], share)
        assert not found["marginals"][row, length:].any()
    assert found["tag_names"].tolist() == [[b"O", b"B-X", b"I-X"]] * 3


def test_what_has_no_attention():
    features = {"token_ids": tf.constant(IDS)}
    classifier = Classifier(TokenEmbedder(3, 3), ["a", "b"], "mean")
    assert explain_label(classifier, features) == {}
    assert explain_attention(classifier, features, None) == {}
    assert explain_attention(hmm(), features, None) == {}


def test_the_pieces_of_words():
    trained = make_bert("words")
    features = trained.indexer(tf.constant([["hotels", "房"], ["x", ""]]))
    found = explain_attention(trained.model, features, None, trained.indexer.ids_to_pieces)
    names = [[n.decode() for n in row] for row in found["attention_tokens"].numpy()]
    assert names == [["[CLS]", "hote", "##ls", "房", "[SEP]"], ["[CLS]", "[UNK]", "[SEP]", "", ""]]
    attention = found["attention"].numpy()
    assert attention.shape == (2, tiny_bert.SIZES["num_layers"], 2, 5, 5)
    assert_close(attention.sum(-1)[0], 1.0)
    assert_close(attention.sum(-1)[1, ..., 3:], 0.0)
