"""Tests the training of taggers on sets of possible tags, against sums over all tag sequences."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import crf
from tests.closeness import assert_close
from tests.models.toy import TAGS, VOCABULARY_SIZE, sentences
from tfreps.layers import CRF
from tfreps.models import Tagger, TokenEmbedder
from tfreps.tags import allowed_transitions

pytestmark = pytest.mark.usefixtures("eager_if_quick")

K = len(TAGS)
IDS = np.array([[3, 1, 4, 0], [2, 2, 0, 0], [4, 3, 2, 1], [0, 0, 0, 0]], "int32")
MASK = IDS > 0
FEATURES = {"token_ids": IDS}
SETS = np.random.default_rng(0).random([4, 4, K]) < 0.7
SETS[0, 0] = True  # the tag is unknown
SETS[2] = [[False, False, True]] * 4  # I-PER cannot be first
WEIGHTS = np.array([0.5, 2.0, 1.0, 1.5], "float32")


def make(**options):
    keras.utils.set_random_seed(0)
    embedder = TokenEmbedder(vocabulary_size=VOCABULARY_SIZE, embedding_dim=8)
    model = Tagger(embedder, TAGS, "bio", dropout=0.0, **options)
    rng = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return model


def summed(model, row):
    """Returns the log of the probability of all sequences in the sets of a sentence."""
    emissions = model(FEATURES)["emissions"].numpy().astype(float)[row, MASK[row]]
    scores = np.zeros([K, K]), np.zeros(K), np.zeros(K)
    if model.use_crf:
        scores = model.crf.transitions, model.crf.start_scores, model.crf.end_scores
        scores = [np.asarray(part, "float64") for part in scores]
        scores = crf.constrained(allowed_transitions(TAGS, "bio"), *scores)
    paths = crf.all_scores(emissions, *scores)
    sets = SETS[row, MASK[row]]
    found = [score for path, score in paths.items() if all(sets[range(len(path)), path])]
    share = crf.log_sum_exp(found) - crf.log_sum_exp(paths.values())
    return max(share, -1e4)


@pytest.mark.parametrize("use_crf", [True, False])
def test_sums_over_all_sequences(use_crf):
    model = make(use_crf=use_crf, temperature=2.0)
    expected = [summed(model, row) for row in range(4)]
    assert (expected[2] == -1e4) == use_crf and expected[3] == 0.0
    value = model.partial_log_likelihood(FEATURES, SETS)
    assert_close(value, expected, magnitude=20.0)

    model.compile(keras.optimizers.SGD(0.0))
    logs = model.evaluate(FEATURES, SETS, sample_weight=WEIGHTS, verbose=0, return_dict=True)
    shown = np.array(expected) > -1e4  # the logs leave out impossible sentences
    assert_close(logs["loss"], -(WEIGHTS * expected)[shown].sum() / shown.sum(), magnitude=20.0)


def test_a_token_without_a_possible_tag():
    model = make(use_crf=False)
    sets = SETS.copy()
    sets[1, 0] = False
    with tf.GradientTape() as tape:
        value = model.partial_log_likelihood(FEATURES, sets)[1]
        second = tf.nn.log_softmax(model(FEATURES)["emissions"])[1, 1]
        expected = tf.reduce_logsumexp(second[sets[1, 1]]) - 1e4
    assert_close(value, expected)
    gradient = tape.gradient(value, model.bias)
    assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0


@pytest.mark.parametrize("use_crf", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_single_tags_train_like_tag_ids(use_crf):
    ids, tags = sentences(8)
    features, sets = {"token_ids": ids}, np.eye(K)[tags] > 0
    weight = np.linspace(0.5, 2.0, 8).astype("float32")
    model = make(use_crf=use_crf)
    model.compile(keras.optimizers.SGD(0.1))
    start = model.get_weights()
    found = []
    for y in tags, sets:
        model.set_weights(start)
        logs = model.evaluate(features, y, sample_weight=weight, verbose=0, return_dict=True)
        model.fit(features, y, sample_weight=weight, verbose=0)
        found.append([*logs.values(), *model.get_weights()])
    for one, other in zip(*found, strict=True):
        assert_close(one, other)
    with pytest.raises(ValueError, match=r"shape \[B\] with soft labels or sets of tags"):
        model.train_on_batch(features, sets, sample_weight=np.ones(ids.shape))


def test_metrics_count_what_is_known():
    """`accuracy` counts tokens with one possible tag, `span_f1` sentences with only such tokens."""
    ids = np.array([[3, 1, 4], [2, 2, 0]], "int32")
    model = make()
    model.compile("sgd")
    tags = model.predict({"token_ids": ids}, verbose=0)["tags"]
    assert (tags[1, :2] != 0).any()  # the second sentence has a span
    sets = np.eye(K)[tags] > 0
    sets[0, 0] = True
    sets[0, 1] = np.eye(K)[(tags[0, 1] + 1) % K] > 0  # a wrong tag
    logs = model.evaluate({"token_ids": ids}, sets, verbose=0, return_dict=True)
    assert_close(logs["accuracy"], 3 / 4)
    assert logs["span_f1"] == 1.0


@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_layer_takes_sets_as_tags(jit_compile):
    crf, rng = CRF(K, jit_compile=jit_compile), np.random.default_rng(3)
    emissions = rng.normal(size=[4, 4, K]).astype("float32")
    sets = SETS | np.eye(K, dtype=bool)[1]
    loss = crf.loss(emissions, sets, MASK, WEIGHTS)
    expected = -np.mean(WEIGHTS * crf.partial_log_likelihood(emissions, sets, MASK).numpy())
    assert_close(loss, expected)
    crf(emissions, mask=MASK, tags=sets)
    assert_close(crf.losses[0], -np.mean(crf.partial_log_likelihood(emissions, sets, MASK)))
