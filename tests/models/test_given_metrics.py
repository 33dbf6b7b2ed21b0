"""Tests the metrics of `compile` against counts in NumPy."""

import keras
import numpy as np
import pytest

from tests.closeness import assert_close
from tests.models.toy import TAGS, VOCABULARY_SIZE, sentences
from tfreps.metrics import AUC
from tfreps.models import Classifier, Tagger, TokenEmbedder
from tfreps.reports import span_report

pytestmark = pytest.mark.usefixtures("eager_if_quick")

IDS, TAG_IDS = sentences(6)
FEATURES, MASK = {"token_ids": IDS}, IDS > 0
LABELS = np.array([0, 1, 1, 0, 1, 0])


def make(cls, names, **options):
    keras.utils.set_random_seed(0)
    embedder = TokenEmbedder(vocabulary_size=VOCABULARY_SIZE, embedding_dim=8)
    return cls(embedder, names, dropout=0.0, **options)


def b_per(y_true, y_pred):
    """Whether both are tag 1, or none is."""
    return keras.ops.equal(y_true == 1, y_pred == 1)


def history_of(model):
    """Trains a tagger for one epoch, and returns the logged metrics."""
    given = {"validation_data": (FEATURES, TAG_IDS), "batch_size": 4, "verbose": 0}
    return model.fit(FEATURES, TAG_IDS, **given).history


def test_metrics_of_the_best_tags():
    model = make(Tagger, TAGS, scheme="bio")
    model.compile(
        keras.optimizers.SGD(0.0),
        metrics=["accuracy", keras.metrics.MeanIoU(len(TAGS), name="overlap"), b_per],
    )
    tags = model.predict(FEATURES, verbose=0)["tags"]
    true, found = TAG_IDS[MASK], tags[MASK]
    shares = [
        ((true == k) & (found == k)).sum() / ((true == k) | (found == k)).sum()
        for k in range(len(TAGS))
        if k in true or k in found
    ]
    expected = {
        "accuracy": np.mean(true == found),
        "overlap": np.mean(shares),
        "b_per": np.mean((true == 1) == (found == 1)),
    }
    history = history_of(model)
    assert set(history) == {
        "loss",
        *expected,
        "val_loss",
        "val_span_f1",
        *map("val_{}".format, expected),
    }
    for name, value in expected.items():
        assert_close(history[name][0], value)
        assert_close(history[f"val_{name}"][0], value)


def test_scores_of_spans():
    model = make(Tagger, TAGS, scheme="bio")
    names = ["span_precision", "span_recall", "span_f1"]
    model.compile(keras.optimizers.SGD(0.0), metrics=names)
    found = model.predict(FEATURES, verbose=0)["tags"]
    true, pred = (
        [[TAGS[k] for k in row[m]] for row, m in zip(ids, MASK, strict=True)]
        for ids in (TAG_IDS, found)
    )
    expected = span_report(true, pred, "bio")["micro"]
    assert 0 < expected["precision"] != expected["recall"] > 0
    history = history_of(model)
    assert set(history) == {
        "loss",
        *names,
        "val_loss",
        "val_accuracy",
        *map("val_{}".format, names),
    }
    for name in names:
        assert_close(history[name][0], expected[name.removeprefix("span_")])
        assert_close(history[f"val_{name}"][0], expected[name.removeprefix("span_")])


def test_metrics_of_probabilities():
    model = make(Classifier, ["bad", "good"])
    model.compile(
        keras.optimizers.SGD(0.0),
        metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(1, name="top")],
    )
    logs = model.evaluate(FEATURES, LABELS, batch_size=4, verbose=0, return_dict=True)
    labels = model.predict(FEATURES, verbose=0)["labels"]
    assert set(logs) == {"loss", "accuracy", "auc", "top"}
    assert_close(logs["top"], np.mean(labels == LABELS))
    assert_close(logs["top"], logs["accuracy"])


def test_compiling_again_replaces_the_metrics():
    model = make(Tagger, TAGS)
    model.compile("sgd", metrics=[b_per, "accuracy"])
    model.compile("sgd", metrics=[keras.metrics.MeanIoU(len(TAGS), name="overlap")])
    history = model.fit(FEATURES, TAG_IDS, verbose=0).history
    assert set(history) == {"loss", "overlap"}


def test_a_name_that_is_taken():
    model = make(Classifier, ["bad", "good"])
    model.compile("sgd", metrics=["auc"])
    with pytest.raises(ValueError, match="must have other names .* got one with the name 'auc'"):
        model.compile("sgd", metrics=[AUC(name="auc")])


@pytest.mark.parametrize(
    "metric, message",
    [
        ("f1", "model, which are 'accuracy', 'span_f1', 'span_precision', 'span_recall'; got 'f1'"),
        ("precision", "Precision is a metric of two classes. Use 'span_precision', 'span_recall' "),
        ("recall", "Recall is a metric of two classes. Use 'span_precision', 'span_recall' or "),
        ("auc", "AUC is a metric of two classes. Use 'span_precision'"),
        (keras.metrics.TruePositives(), "TruePositives is a metric of two classes"),
        (keras.metrics.SparseCategoricalAccuracy(), "SparseCategoricalAccuracy needs probabil"),
        ("categorical_accuracy", "needs prob"),
    ],
)
def test_metrics_that_do_not_fit(metric, message):
    model = make(Tagger, TAGS, scheme="bio")
    with pytest.raises(ValueError, match=message):
        model.compile("sgd", metrics=[metric])


def test_metrics_are_saved(tmp_path):
    model = make(Tagger, TAGS, scheme="bio")
    overlap = keras.metrics.MeanIoU(len(TAGS), name="overlap")
    model.compile(keras.optimizers.SGD(0.0), metrics=["accuracy", "span_recall", overlap])
    expected = model.evaluate(FEATURES, TAG_IDS, verbose=0, return_dict=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert [metric.name for metric in loaded.metrics][-2:] == ["span_recall", "overlap"]
    assert_close(loaded.evaluate(FEATURES, TAG_IDS, verbose=0, return_dict=True), expected)
