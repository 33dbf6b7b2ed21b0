"""Tests Tagger and Classifier on Keras models of a user: loss, weights, masks, files, exports."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import Problem
from tfreps._src.models.keras_encoder import inputs_of
from tfreps.models import Classifier, Tagger

TAGS = ["O", "B-X", "I-X"]
IDS = np.array([[4, 7, 2, 5], [3, 6, 0, 0], [1, 0, 0, 0]], "int32")
Y = np.array([[0, 1, 2, 0], [1, 2, 0, 0], [0, 0, 0, 0]], "int32")


def encoder(outputs=lambda ids, x: x, inputs=lambda ids: ids, layer=None):
    layer = layer or keras.layers.Dense(6, "tanh")
    ids = keras.Input([None], dtype="int32", name="ids")
    x = keras.layers.Embedding(8, 4, mask_zero=True)(ids)
    x = layer(x)
    return keras.Model(inputs(ids), outputs(ids, x))


def two_directions():
    return keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))


def randomize(model):
    rng = np.random.default_rng(3)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))


@pytest.fixture(scope="module")
def tagger():
    model = Tagger(encoder(), TAGS, dropout=0.0)
    randomize(model)
    model.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
    return model


def negative_log_likelihoods(model):
    """Returns the negative log-likelihoods of Y, computed from all paths in float64."""
    x = model.encoder(IDS).numpy()
    scores = np.array(x, "float64") @ model.kernel.numpy() + model.bias.numpy()
    crf = (model.crf.transitions, model.crf.start_scores, model.crf.end_scores)
    problem = Problem(scores, IDS != 0, *(part.numpy() for part in crf))
    found = []
    for row, real in enumerate(IDS != 0):
        paths = dict(problem.paths(row))
        found.append(problem.log_normalizer(row) - paths[tuple(Y[row][real])])
    return np.array(found)


def test_loss_of_fit_is_that_of_all_paths(tagger):
    expected = negative_log_likelihoods(tagger)
    history = tagger.fit(IDS, Y, batch_size=3, verbose=0).history
    assert_close(history["loss"], [expected.mean()], magnitude=30.0)
    assert sorted(tagger.evaluate(IDS, Y, verbose=0, return_dict=True)) == ["accuracy", "loss"]


@pytest.mark.slow
def test_sample_weights_multiply_sentences_or_tokens(tagger):
    tagger.compile(keras.optimizers.SGD(0.0))
    nll = negative_log_likelihoods(tagger)
    rows = np.array([0.5, 2.0, 0.0], "float32")
    tokens = np.where(IDS != 0, rows[:, None], 0.0).astype("float32")
    for weights in rows, tokens, rows:  # one compiled model takes both
        history = tagger.fit(IDS, Y, sample_weight=weights, batch_size=3, verbose=0).history
        assert_close(history["loss"], [(rows * nll).mean()], magnitude=30.0)
        found = tagger.evaluate(IDS, Y, sample_weight=weights, verbose=0, return_dict=True)
        assert_close(found["loss"], (rows * nll).mean(), magnitude=30.0)


@pytest.mark.slow
@pytest.mark.parametrize("layer", [None, two_directions], ids=["dense", "lstm"])
def test_saved_and_exported_models_give_the_same_tags(layer, tmp_path):
    tagger = Tagger(encoder(layer=layer and layer()), TAGS, dropout=0.0)
    randomize(tagger)
    tagger.compile(keras.optimizers.SGD(0.0))
    expected = tagger.predict(IDS, verbose=0)
    tagger.save(tmp_path / "tagger.keras")
    loaded = keras.saving.load_model(tmp_path / "tagger.keras")
    np.testing.assert_array_equal(loaded.predict(IDS, verbose=0)["tags"], expected["tags"])
    loaded.fit(IDS, Y, verbose=0)
    tagger.export(tmp_path / "served", verbose=False)
    served = tf.saved_model.load(tmp_path / "served")
    found = served.serve(tf.constant(IDS))
    np.testing.assert_array_equal(found["tags"], expected["tags"])
    assert_close(found["confidences"], expected["confidences"])


@pytest.mark.parametrize(
    "form",
    [
        lambda: encoder(lambda ids, x: {"sequence_output": x}),
        lambda: encoder(lambda ids, x: {"sequence_output": x * 1.0, "mask": ids != 0}),
        lambda: encoder(lambda ids, x: [x], lambda ids: [ids]),
        lambda: keras.Sequential(encoder().layers),
    ],
)
def test_forms_of_an_output(tagger, form):
    model = Tagger(form(), TAGS, dropout=0.0)
    model.set_weights(tagger.get_weights())
    one, other = model(IDS), tagger(IDS)
    assert_close(one["emissions"], other["emissions"])
    np.testing.assert_array_equal(one["mask"], IDS != 0)


def test_ids_out_of_range_are_errors_in_fit(tagger):
    with pytest.raises(tf.errors.InvalidArgumentError, match="`y` must lie in 0..2"):
        tagger.fit(IDS, Y + 2, batch_size=3, verbose=0)


def test_without_a_mask_all_tokens_are_real():
    ids = keras.Input([None], dtype="int32")
    model = Tagger(keras.Model(ids, keras.layers.Embedding(8, 4)(ids)), TAGS)
    assert model(IDS)["mask"].numpy().all()


def test_a_mask_that_an_operation_drops_is_an_error():
    model = Tagger(encoder(lambda ids, x: x * 1.0), TAGS)
    with pytest.raises(ValueError, match="`encoder` must return its mask"):
        model(IDS)


MERGES = [getattr(keras.layers, name) for name in ("Concatenate", "Add", "Average", "Multiply")]


def two_inputs(merge, masks):
    """Returns a BiLSTM on token ids and a feature; `masks` says which embeddings have a mask.

    Without any, the mask is passed by name.
    """
    ids, case = (keras.Input([None], dtype="int32", name=name) for name in ("ids", "case"))
    parts = zip((ids, case), masks, strict=True)
    x = merge()([keras.layers.Embedding(8, 4, mask_zero=has)(given) for given, has in parts])
    if any(masks):
        return keras.Model([ids, case], two_directions()(x))
    mask = ids != 0
    x = two_directions()(x, mask=mask)
    return keras.Model([ids, case], {"sequence_output": x, "mask": mask})


@pytest.mark.few(3)
@pytest.mark.parametrize("head", [Tagger, Classifier])
@pytest.mark.parametrize("merge", MERGES)
def test_merging_tensors_with_and_without_a_mask_is_an_error(merge, head):
    message = f"The layer '{merge.__name__.lower()}.*' must merge either only tensors with a mask"
    with pytest.raises(ValueError, match=message):
        head(two_inputs(merge, [True, False]), TAGS)
    inner = keras.Sequential([keras.Input([None, 4]), keras.layers.Dense(4)])
    model = two_inputs(merge, [True, False])
    with pytest.raises(ValueError, match="`mask = ids != 0`, call layers that read neighbors"):
        head(keras.Model(model.inputs, inner(keras.layers.Dense(4)(model(model.inputs)))), TAGS)


def alone_and_padded():
    """Returns two inputs for one sentence of three tokens, without and with padding."""
    ids = np.array([[7, 2, 4]], "int32")
    alone = {"ids": ids, "case": (ids > 3).astype("int32") + 1}
    return alone, {name: np.pad(value, [[0, 0], [0, 9]]) for name, value in alone.items()}


@pytest.mark.few(2)
@pytest.mark.parametrize("masks", [[False, False], [True, True]], ids=["by_name", "of_keras"])
@pytest.mark.parametrize("head, name", [(Tagger, "emissions"), (Classifier, "logits")])
def test_padding_of_two_inputs_has_no_effect(masks, head, name):
    model = head(two_inputs(MERGES[0], masks), TAGS, dropout=0.0)
    randomize(model)
    alone, padded = (model(inputs)[name] for inputs in alone_and_padded())
    assert_close(padded[:, :3], alone)


@pytest.mark.slow
@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("masks", [[False, False], [True, True]], ids=["by_name", "of_keras"])
@pytest.mark.parametrize("head", [Tagger, Classifier])
def test_a_sentence_of_two_inputs_alone_and_padded(merge, masks, head, tmp_path):
    model = head(two_inputs(merge, masks), TAGS, dropout=0.0)
    randomize(model)
    model.compile(keras.optimizers.SGD(0.0))
    y = np.array([[0, 1, 2]], "int32")
    alone, padded = alone_and_padded()
    ys = (y, np.pad(y, [[0, 0], [0, 9]])) if head is Tagger else (y[:, 0], y[:, 0])
    logs = [
        model.evaluate(x, given, verbose=0, return_dict=True)
        for x, given in zip((alone, padded), ys, strict=True)
    ]
    assert_close(logs[1], logs[0])
    model.save(tmp_path / "model.keras")
    model.export(tmp_path / "served", verbose=False)
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    served = tf.saved_model.load(tmp_path / "served")
    expected = model.predict(alone, verbose=0)
    for predict in lambda x: model.predict(x, verbose=0), loaded.predict_on_batch, served.serve:
        found = predict({name: tf.constant(value) for name, value in padded.items()})
        if head is Tagger:
            found = {name: np.array(found[name])[:, :3] for name in ("tags", "confidences")}
        for name, value in found.items():
            assert_close(value, expected.get(name, value))


@pytest.mark.slow
def test_a_dict_of_inputs(tagger, tmp_path):
    model = Tagger(encoder(inputs=lambda ids: {"ids": ids}), TAGS, dropout=0.0)
    model.set_weights(tagger.get_weights())
    expected = tagger.predict(IDS, verbose=0)["tags"]
    np.testing.assert_array_equal(model.predict({"ids": IDS}, verbose=0)["tags"], expected)
    model.export(tmp_path, verbose=False)
    served = tf.saved_model.load(tmp_path)
    np.testing.assert_array_equal(served.serve({"ids": IDS})["tags"], expected)


@pytest.mark.slow
def test_a_list_of_inputs_is_also_called_and_served_as_a_dict(tmp_path, capsys):
    ids, case = (keras.Input([None], dtype="int32", name=name) for name in ("ids", "case"))
    parts = [keras.layers.Embedding(8, 4, mask_zero=True)(given) for given in (ids, case)]
    vectors = keras.layers.Concatenate()(parts)
    model = Tagger(keras.Model([ids, case], vectors), TAGS, dropout=0.0)
    randomize(model)
    named = {"case": (IDS + 1) // 2, "ids": IDS}
    expected = model.predict(named, verbose=0)
    model.export(tmp_path)
    specs = [f"{name} int32 [None, None]" for name in ("ids", "case")]
    takes = f"[{', '.join(specs)}] or {{{', '.join(sorted(specs))}}}."
    assert f"`serve` takes {takes}" in capsys.readouterr().out
    served = tf.saved_model.load(tmp_path)
    for given in named, [named["ids"], named["case"]]:
        found = served.serve(tf.nest.map_structure(tf.constant, given))
        np.testing.assert_array_equal(found["tags"], expected["tags"])
        assert_close(found["confidences"], expected["confidences"])
    without_names = keras.Model([a := keras.Input([None, 2]), b := keras.Input([None, 2])], a + b)
    assert len(inputs_of(without_names)) == 1


def test_classifier():
    outputs = [
        (lambda ids, x: x, "mean"),
        (lambda ids, x: {"sequence_output": x, "pooled_output": x[:, 0]}, "pooled_output"),
    ]
    y = np.array([0, 1, 1])
    for output, pooling in outputs:
        model = Classifier(encoder(output), ["no", "yes"], pooling=pooling, dropout=0.0)
        x = model.encoder(IDS)
        x = x["pooled_output"] if isinstance(x, dict) else x.numpy()[2, :1].repeat(3, 0)
        logits = x @ model.kernel.numpy() + model.bias.numpy()
        assert_close(model(IDS)["logits"][2], logits[2])  # a text of one token
    model.compile(keras.optimizers.SGD(0.0))
    history = model.fit(IDS, y, verbose=0).history
    expected = keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True)
    assert_close(history["loss"], [np.mean(expected)])


@pytest.mark.parametrize(
    "given",
    [
        lambda: keras.Sequential([keras.layers.Dense(2)]),
        lambda: encoder(lambda ids, x: x[:, 0]),
        lambda: encoder(lambda ids, x: {"vectors": x}),
        lambda: encoder(lambda ids, x: [x, x]),
    ],
)
def test_rejects_models_without_vectors_of_tokens(given):
    with pytest.raises(ValueError, match="functional or Sequential Keras model whose output"):
        Tagger(given(), TAGS)
