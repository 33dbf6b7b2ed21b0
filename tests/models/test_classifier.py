"""Tests Classifier: training with every pooling, weights, saving, export."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.models.toy import labeled
from tfreps.models import BiLSTMEncoder, Classifier, LinearEncoder, TokenEmbedder

LABELS = ["without", "with"]
LOGS = ["accuracy", "auc", "loss", "val_accuracy", "val_auc", "val_loss"]
IDS = np.array([[1, 2, 3], [4, 0, 0], [0, 0, 0]], "int32")


def embedder():
    return TokenEmbedder(vocabulary_size=6, embedding_dim=8)


def make(**kwargs):
    return Classifier(BiLSTMEncoder(embedder(), units=8), LABELS, **{"dropout": 0.1, **kwargs})


@pytest.mark.slow
@pytest.mark.parametrize(
    "pooling", ["attention", pytest.param("pooled_output", marks=pytest.mark.slow)]
)
def test_learns_saves_and_loads(pooling, tmp_path):
    model = make(pooling=pooling, hidden_units=8)
    model.compile(keras.optimizers.Adam(0.02))
    data = labeled(512)
    history = model.fit(data, validation_data=labeled(64, seed=1), epochs=12, verbose=0).history
    assert sorted(history) == LOGS
    assert history["val_accuracy"][-1] > 0.92
    out = model.predict(data, verbose=0)
    assert out["labels"].dtype == "int32" and out["probabilities"].dtype == "float32"
    y = np.concatenate([labels for _, labels in data])
    measured = model.evaluate(data, verbose=0, return_dict=True)["accuracy"]
    assert_close(measured, (out["labels"] == y).mean())
    auc = model.evaluate(data, verbose=0, return_dict=True)["auc"]
    shares = out["probabilities"][:, 1]
    won = np.mean(shares[y == 1][:, None] > shares[y == 0])  # over all pairs
    assert auc == pytest.approx(won, abs=1e-3)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras").predict(data, verbose=0)
    for name in out:
        np.testing.assert_array_equal(out[name], again[name])


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "pooling", ["mean", "max", "mean_max", "attention", "first", "pooled_output"]
)
def test_every_pooling_ignores_padding_and_takes_empty_texts(pooling):
    model = make(pooling=pooling)
    out = model({"token_ids": IDS})
    wider = model({"token_ids": np.pad(IDS, [(0, 0), (0, 3)])})
    assert_close(out["logits"], wider["logits"])
    assert_close(out["logits"][2], model.bias)
    assert_close(tf.reduce_sum(out["probabilities"], 1), 1.0)


def test_the_loss_is_weighted():
    model = Classifier(embedder(), LABELS, dropout=0.0, class_weights=[1.0, 3.0])
    model.compile("sgd")
    outputs, y = model({"token_ids": IDS}), np.array([0, 1, 1])
    nll = -np.log(outputs["probabilities"].numpy()[np.arange(3), y])
    weight = np.array([0.5, 1.0, 2.0])
    found = model.compute_loss(y=y, y_pred=outputs, sample_weight=weight)
    assert_close(found, (weight * [1.0, 3.0, 3.0] * nll).mean())
    found = model.compute_loss(y=y, y_pred=outputs)
    assert_close(found, ([1.0, 3.0, 3.0] * nll).mean())


def test_accuracy_counts_texts_and_not_weights():
    model = Classifier(embedder(), LABELS, dropout=0.0)
    model.compile("sgd", run_eagerly=True)
    y = 1 - model.predict({"token_ids": IDS}, verbose=0)["labels"]
    y[0] = 1 - y[0]  # one correct, two wrong
    figures = [
        model.evaluate({"token_ids": IDS}, y, sample_weight=w, verbose=0, return_dict=True)
        for w in (None, np.array([9.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0]))
    ]
    assert_close([f["accuracy"] for f in figures], [1 / 3, 1 / 3, 1 / 2])


def test_a_linear_model_adds_its_scores():
    """The scores are divided by the square root of the length; an empty text has none."""
    linear = LinearEncoder(9, 2, unigram_offsets=[0], bigram_offsets=[])
    linear.unigrams.assign(np.arange(24.0).reshape(12, 2))
    model = Classifier(embedder(), LABELS, linear=linear)
    ids = np.array([[3, 5, 0], [4, 0, 0], [0, 0, 0]])
    with_linear = model({"token_ids": ids})["logits"].numpy()
    model.linear = None
    added = with_linear - model({"token_ids": ids})["logits"].numpy()
    expected = [np.array([6 + 10, 7 + 11]) / 2**0.5, [8, 9], [0, 0]]
    assert_close(added, expected)


@pytest.mark.slow
def test_label_ids_out_of_range():
    model = make()
    model.compile("sgd")
    for wrong in -1, 2:
        with pytest.raises(tf.errors.InvalidArgumentError, match="`y` must lie in 0..1"):
            model.train_on_batch({"token_ids": IDS}, np.array([0, 1, wrong]))


def test_token_weights_without_attention():
    with pytest.raises(ValueError, match="needs a model with `pooling=\"attention\"`; .* 'mean'"):
        make(pooling="mean").token_weights({"token_ids": IDS})


@pytest.mark.parametrize(
    "options, message",
    [
        ({"labels": ["a", "a"]}, "list of distinct"),
        ({"labels": [0, 1]}, "non-empty strings"),
        ({"pooling": "sum"}, "`pooling` must be one of .*; got 'sum'"),
        ({"hidden_units": 0}, "at least 1, or None; got 0"),
        ({"class_weights": [1.0]}, r"one non-negative factor for each of .*; got \[1.0\]"),
        ({"linear": LinearEncoder(9, 3, num_buckets=9)}, r"one unit per label \(2\); got 3"),
        ({"pooling": "pooled_output"}, "`pooled_output` .*; TokenEmbedder has none"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        Classifier(embedder(), **{"labels": LABELS, **options})


@pytest.mark.slow
def test_training_shows_the_mean_loss_of_texts():
    """Batches of 2 and 1 texts have the weights of `SequenceBatches`; the rate is 0."""
    model = Classifier(embedder(), LABELS, dropout=0.0)
    model.compile(keras.optimizers.SGD(0.0))
    y = np.array([0, 1, 1], "int32")
    parts = [(IDS[:2], y[:2], 4 / 3), (IDS[2:], y[2:], 2 / 3)]
    batches = [
        ({"token_ids": x, "batch_weight": w}, y, w)
        for x, y, size in parts
        for w in [np.full(len(x), size, "float32")]
    ]
    label_spec, weight_spec = (tf.TensorSpec([None], kind) for kind in ("int32", "float32"))
    features_spec = {"token_ids": tf.TensorSpec([None, 3], "int32"), "batch_weight": weight_spec}
    spec = features_spec, label_spec, weight_spec
    data = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec)
    data = data.apply(tf.data.experimental.assert_cardinality(2))
    shown = model.fit(data, verbose=0).history["loss"][0]
    expected = model.evaluate({"token_ids": IDS}, y, verbose=0, return_dict=True)["loss"]
    assert_close(shown, expected)
    nll = -np.log(model({"token_ids": IDS})["probabilities"].numpy()[np.arange(3), y])
    assert_close(expected, nll.mean())
