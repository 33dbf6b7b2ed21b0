"""Tests that each argument of Keras's methods has the meaning of Keras or raises an error."""

import functools
import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.models.toy import TAGS, sentences
from tfreps._src.models.own_loss import mean_of_rows, over_replicas
from tfreps.models import (
    BertEncoder,
    BertPretrainer,
    BiLM,
    BiLMPretrainer,
    Classifier,
    HMMTagger,
    Tagger,
    TokenEmbedder,
)

IDS, TAG_IDS = sentences(4)
X, Y = {"token_ids": IDS}, np.maximum(TAG_IDS, 0)
TEXT = np.array([[2, 4, 7, 3]])
# Arguments with the meaning that they have in Keras, for all models.
SAME = {
    "compile": "optimizer run_eagerly steps_per_execution jit_compile auto_scale_loss",
    "fit": "x batch_size epochs verbose callbacks validation_split validation_data shuffle "
    "initial_epoch steps_per_epoch validation_steps validation_batch_size validation_freq",
    "evaluate": "x batch_size verbose steps callbacks return_dict",
    "predict": "x batch_size verbose steps callbacks",
}
# All other arguments: a value, and the message that it gives, or None where Keras's meaning holds.
ITSELF = "computes its loss itself: call `compile\\(optimizer\\)`"
OWN_METRICS = "omit the argument, and compute other metrics from the output of `predict`"
IN_FEATURES = "targets and their weights are part of the features"
NO_LOSS = "An HMMTagger has no loss, .* Train it with `fit_counts`"
COMPILED = {
    "loss": ("mse", ITSELF),
    "loss_weights": ([1.0], ITSELF),
    "weighted_metrics": (["accuracy"], OWN_METRICS),
}
COMPILE = {**COMPILED, "metrics": (["accuracy"], OWN_METRICS)}
GIVEN = {**COMPILED, "metrics": (["accuracy"], None)}
OTHER = {
    "Tagger": {
        "compile": GIVEN,
        "fit": {
            "y": (Y, None),
            "class_weight": ({0: 1, 1: 1, 2: 100}, r"`sample_weight` of shape \[B, T\]"),
            "sample_weight": (np.ones(4), None),
        },
        "evaluate": {"y": (Y, None), "sample_weight": (np.ones(4), None)},
    },
    "Classifier": {
        "compile": GIVEN,
        "fit": {
            "y": (Y[:, 0], None),
            "class_weight": ({0: 1.0, 1: 2.0}, None),
            "sample_weight": (np.ones(4), None),
        },
        "evaluate": {"y": (Y[:, 0], None), "sample_weight": (np.ones(4), None)},
    },
    **dict.fromkeys(
        ("BiLMPretrainer", "BertPretrainer"),
        {
            "compile": COMPILE,
            "fit": {
                "y": (np.ones([1, 3]), IN_FEATURES),
                "class_weight": ({0: 1.0}, IN_FEATURES),
                "sample_weight": (np.ones(1), IN_FEATURES),
            },
            "evaluate": {
                "y": (np.ones([1, 3]), IN_FEATURES),
                "sample_weight": (np.ones(1), IN_FEATURES),
            },
        },
    ),
    "HMMTagger": {
        "compile": {name: (value, None) for name, (value, _) in COMPILE.items()},
        "fit": {
            "y": (Y, NO_LOSS),
            "class_weight": ({0: 1.0}, NO_LOSS),
            "sample_weight": (np.ones(4), NO_LOSS),
        },
        "evaluate": {"y": (Y, NO_LOSS), "sample_weight": (np.ones(4), NO_LOSS)},
    },
    # A biLM has no loss of its own: `compile` sets the loss of its outputs, as for any Keras model.
    "BiLM": {},
}


def make(name, **options):
    """Returns a model and features for it."""
    embedder = TokenEmbedder(8, 4)
    if name == "Tagger":
        return Tagger(embedder, TAGS, **{"dropout": 0.0, **options}), X
    if name == "Classifier":
        return Classifier(embedder, ["a", "b", "c"], dropout=0.0), X
    if name == "HMMTagger":
        return HMMTagger(8, TAGS), X
    if name == "BertPretrainer":
        encoder = BertEncoder(9, hidden_dim=4, num_layers=1, num_heads=2)
        features = {"token_ids": TEXT, "masked_positions": [[1]], "masked_ids": [[5]]}
        features = {name: np.array(value) for name, value in features.items()}
        return BertPretrainer(encoder, next_sentence=False), features
    bilm = BiLM(units=4, projection_dim=4, vocabulary_size=9, bidirectional=False)
    features = {"token_ids": TEXT, "next_token_id": TEXT + 1, "mask": TEXT > 0}
    return BiLMPretrainer(bilm, vocabulary_size=9, batch_size=1), features


shared = functools.cache(make)  # for tests that do not train the model


@pytest.mark.parametrize("name", OTHER)
def test_every_argument_is_in_the_table(name):
    for method, same in SAME.items():
        known = set(same.split()) | set(OTHER[name].get(method, COMPILE if name == "BiLM" else ()))
        arguments = set(inspect.signature(getattr(keras.Model, method)).parameters) - {"self"}
        if name == "BiLM":
            known |= {"y", "class_weight", "sample_weight"}
        assert arguments - {"kwargs"} <= known


@pytest.mark.parametrize(
    "name, method, argument, value, message",
    [
        (name, method, argument, *row)
        for name, methods in OTHER.items()
        for method, rows in methods.items()
        for argument, row in rows.items()
        if row[1]
    ],
)
def test_an_argument_that_does_not_apply(name, method, argument, value, message):
    model, features = shared(name)
    if method == "compile":
        with pytest.raises(ValueError, match=message):
            model.compile("sgd", **{argument: value})
    else:
        model.compile("sgd")
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(features, **{argument: value}, verbose=0)


def test_arguments_by_position():
    model, _ = make("Tagger")
    with pytest.raises(ValueError, match="`loss` must be None"):
        model.compile("sgd", "mse", None, ["accuracy"])
    model.compile("sgd")
    with pytest.raises(ValueError, match="`class_weight` must be None"):
        model.train_on_batch(X, Y, None, {0: 1.0, 1: 5.0})
    with pytest.raises(ValueError, match="whose first item is .*'B'"):
        model.evaluate(X, np.array([["B"] * Y.shape[1]] * len(Y)), verbose=0)


def test_weights_of_tokens_replace_weights_of_tags():
    """The tags in training: the loss of a weighted tag is multiplied, the others' is not."""
    model, _ = make("Tagger", use_crf=False)
    model.compile("sgd", run_eagerly=True)
    mask = X["token_ids"] > 0
    plain = [model.evaluate(X, Y, sample_weight=mask * (Y == k), verbose=0)[0] for k in range(3)]
    weights = np.array([1.0, 1.0, 100.0])[Y]
    weighted = model.evaluate(X, Y, sample_weight=weights, verbose=0)[0]
    assert_close(weighted, plain[0] + plain[1] + 100 * plain[2])


@pytest.mark.parametrize(
    "name, options",
    [
        ("Classifier", {}),
        pytest.param("Tagger", {}, marks=pytest.mark.slow),
        pytest.param("Tagger", {"use_crf": False}, marks=pytest.mark.slow),
    ],
)
def test_weighted_figures_do_not_depend_on_the_batches(name, options, functions_run_eagerly):
    """As in Keras, the loss is divided by the number of rows, not by the sum of the weights."""
    model, _ = make(name, **options)
    model.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
    y, weights = Y if name == "Tagger" else Y[:, 0], np.array([0.0, 3.0, 0.5, 1.0])
    one = {"batch_size": 1, "verbose": 0, "return_dict": True}
    each = [model.evaluate({"token_ids": IDS[i : i + 1]}, y[i : i + 1], **one) for i in range(4)]
    expected = np.mean(weights * [found["loss"] for found in each])
    found = [
        model.evaluate(X, y, sample_weight=weights, batch_size=size, verbose=0, return_dict=True)
        for size in (1, 3, 4)
    ]
    for logs in found:
        assert_close(logs["loss"], expected)
        assert logs == {**found[0], "loss": logs["loss"]}
    history = model.fit(X, y, sample_weight=weights, batch_size=3, verbose=0).history
    assert_close(history["loss"], [expected])
    logs = model.train_on_batch(X, y, weights, return_dict=True)
    assert_close(logs["loss"], expected)
    if name == "Classifier":
        of_class = {label: float(label + 1) for label in range(3)}
        expected = np.mean((y + 1) * [found["loss"] for found in each])
        history = model.fit(X, y, class_weight=of_class, batch_size=3, verbose=0).history
        assert_close(history["loss"], [expected])
        keras_model = keras.Sequential([keras.layers.Lambda(lambda x: x)])
        keras_model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        logits = model(X)["logits"].numpy()
        assert_close(keras_model.evaluate(logits, y, 3, 0, weights), found[0]["loss"])


def test_names_of_metrics_are_those_of_the_numbers():
    model, _ = make("Tagger", scheme="bio")
    model.compile("sgd", run_eagerly=True)
    logs = model.evaluate(X, Y, verbose=0, return_dict=True)
    numbers = model.evaluate(X, Y, verbose=0)
    assert model.metrics_names == ["loss", "accuracy", "span_f1"]
    assert dict(zip(model.metrics_names, numbers, strict=True)) == logs


def test_weights_of_labels_where_batches_have_weights():
    model, _ = make("Classifier")
    model.compile("sgd")
    batches = tf.data.Dataset.from_tensor_slices((X, Y[:, 0], np.ones(4))).batch(2)
    with pytest.raises(ValueError, match=r"`Classifier\(..., class_weights=\[...\]\)`; got {1: 2}"):
        model.fit(batches, class_weight={1: 2})


def test_metrics_of_an_output_of_a_classifier(functions_run_eagerly):
    model, _ = make("Classifier")
    model.compile("sgd", metrics={"logits": "accuracy"})
    logs = model.evaluate(X, Y[:, 0], verbose=0, return_dict=True)
    assert logs["logits_accuracy"] == logs["accuracy"]


class Batches(keras.utils.PyDataset):
    """Two batches of 2 sentences, of 3 and of 9 tokens."""

    def __len__(self):
        return 2

    def __getitem__(self, number):
        rows = {"token_ids": IDS[2 * number :][:2, : [3, 9][number]]}
        return rows, np.zeros_like(rows["token_ids"])


def generator():
    yield from (Batches()[number] for number in range(2))


def dataset():
    spec = {"token_ids": tf.TensorSpec([None, None], "int32")}, tf.TensorSpec([None, None], "int32")
    return tf.data.Dataset.from_generator(generator, output_signature=spec)


@pytest.mark.few(1)
@pytest.mark.parametrize("data", [Batches, generator, dataset])
@pytest.mark.parametrize("name", ["HMMTagger", "Tagger"])
def test_batches_of_different_widths(name, data):
    model, _ = make(name)
    model.compile(run_eagerly=True)
    steps = None if data is Batches else 2  # Keras warns if the number of batches is unknown
    found = model.predict(data(), steps=steps, verbose=0)
    first, second = (model.predict_on_batch(batch[0]) for batch in generator())
    assert sorted(found) == ["confidences", "mask", "tags"]
    for key, array in found.items():
        assert isinstance(array, np.ndarray) and array.dtype == first[key].dtype
        np.testing.assert_array_equal(array[:2, :3], first[key])
        assert not array[:2, 3:].any()
        np.testing.assert_array_equal(array[2:], second[key])


@pytest.mark.slow
def test_arguments_of_predict(capsys):
    """On a repeated data set, `steps` limits the batches; callbacks see each of them."""
    model, _ = make("Tagger", use_crf=False)
    model.compile(run_eagerly=True)
    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_predict_batch_end=lambda batch, logs: seen.append(batch)
    )
    batches = tf.data.Dataset.from_tensor_slices(X).batch(2)
    found = model.predict(batches.repeat(), steps=1, callbacks=[callback], verbose=0)
    assert found["tags"].shape == (2, 9) and seen == [0] and not capsys.readouterr().out
    assert model.predict(batches, steps=1, verbose=2)["tags"].shape == (2, 9)
    assert "1/1" in capsys.readouterr().out
    assert model.predict(X, batch_size=3, callbacks=[callback], verbose=0)["mask"].shape == (4, 9)
    assert seen == [0, 0, 1]


def test_predict_computes_one_batch_at_a_time():
    """Outputs of batches of different widths cannot be joined in a graph, as Keras would."""
    model, _ = make("Tagger", use_crf=False)
    model.compile("sgd", steps_per_execution=2, run_eagerly=True)
    assert model.predict(Batches(), verbose=0)["tags"].shape == (4, 9)
    assert model.steps_per_execution == 2


def test_predict_of_a_pretrainer():
    model, features = make("BiLMPretrainer")
    with pytest.raises(ValueError, match="`predict` does not apply to a BiLMPretrainer"):
        model.predict(features)
    model.compile("sgd", run_eagerly=True)
    assert model.train_on_batch(features, return_dict=True).keys() == {
        "gradient_norm",
        "training_perplexity",
    }


RAGGED = tf.ragged.constant([[0, 1], [2], [1], [0]])


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ["Tagger", "Classifier"])
@pytest.mark.parametrize(
    "y, got",
    [
        (lambda y: y[..., None, None], r"int32 of shape \(None,.* 1, 1\)"),
        (lambda y: np.eye(3, dtype="int32")[y], r"int32 of shape \(None,.* 3\)"),
        (lambda y: RAGGED, r"ragged int32 of shape \(None, None\)"),
        (lambda y: tf.constant(["O"] * 4), r"string of shape \(None,\)"),
    ],
)
def test_targets_of_another_form(name, y, got):
    model, _ = make(name)
    model.compile("sgd")
    shape = r"\[B, T\], here \(None, 9\)" if name == "Tagger" else r"\[B\], here \(None,\)"
    message = f"`y` must be integer ids of shape {shape}; got {got}. Replace names by their ids"
    given = y(Y if name == "Tagger" else Y[:, 0])
    with pytest.raises(ValueError, match=message):
        model.fit(tf.data.Dataset.from_tensor_slices((X, given)).batch(2), verbose=0)
    if given is RAGGED and name == "Classifier":
        model.fit(X, Y[:, 0], verbose=0)  # the model can still be trained after the error


@pytest.mark.parametrize("name", ["Tagger", "Classifier"])
def test_one_hot_targets_after_ids(name):
    model, _ = make(name)
    model.compile("sgd", run_eagerly=False)
    y = (Y if name == "Tagger" else Y[:, 0]).astype("int32")
    model.fit(X, y, verbose=0)
    with pytest.raises(ValueError, match=r"got int32 of shape .*convert one-hot rows"):
        model.fit(X, np.eye(3, dtype="int32")[y], verbose=0)
    model.fit(X, y, verbose=0)


@pytest.mark.parametrize(
    "y, got",
    [
        (np.array(["b", "a", "a", "b"]), r"ndarray, whose first item is .*'b'"),
        (["b", "a", "a", "b"], "list, whose first item is 'b'"),
        ([[0, 1], [2]], r"list, whose first item is \[0, 1\]"),
        (np.array([[0, 1], [2]], object), r"ndarray, whose first item is .*\[0, 1\]"),
    ],
)
def test_names_and_lists_as_targets(y, got):
    model, _ = make("Classifier")
    model.compile("sgd")
    with pytest.raises(ValueError, match=f"`y` must be an array of integer ids; got {got}"):
        model.fit(X, y)


@pytest.mark.parametrize("name", ["Tagger", "HMMTagger"])
@pytest.mark.parametrize(
    "inputs, got",
    [
        (5, r"5 \(int\)"),
        (None, r"None \(NoneType\)"),
        ("a text", r"'a text' \(str\)"),
        ({"token_ids": [[1, 2]]}, r"1 \(int\)"),
        ({"token_ids": RAGGED}, "a RaggedTensor"),
    ],
)
def test_inputs_of_another_form(name, inputs, got):
    model, _ = make(name)
    message = f"{name} must be called on arrays .* token_ids int32 .*; got {got}. Convert lists"
    with pytest.raises(ValueError, match=message):
        model(inputs)


def test_the_mean_of_no_rows_is_zero():
    assert float(mean_of_rows(tf.constant([1.0, 2.0, 6.0]))) == 3.0
    assert float(mean_of_rows(tf.zeros([0]))) == 0.0


def test_one_replica_has_the_whole_loss():
    loss, weight, logged = tf.constant(2.0), tf.constant([1.5, 1.5]), (tf.constant(3.0), 1)
    assert over_replicas(loss, 2, logged, weight) == (loss, *logged, weight)
