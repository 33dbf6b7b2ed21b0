"""Tests Elmo against plain loops and inside model.fit: frozen, trained, ids, strings."""

import functools
import pathlib
import tempfile

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import elmo as by_hand
from tests import oracles
from tests.closeness import assert_close
from tests.oracles import SENTENCES
from tfreps.models import BiLM, Classifier, Elmo, Tagger
from tfreps.text import batch_to_ids

MIXES = [([0.3, -1.0, 2.0], 0.7), ([1.0, 0.5, 0.0], 1.5)]


def make_bilm(tmp_path, **kwargs):
    options = oracles.options_with()
    weights = oracles.random_weights(options, scale=0.5, seed=2)
    bilm = BiLM.from_pretrained(*oracles.write_files(tmp_path, options, weights), **kwargs)
    return options, weights, bilm


@functools.cache
def layers_of_oracle():
    options = oracles.options_with()
    weights = oracles.random_weights(options, scale=0.5, seed=2)
    return [by_hand.bilm(weights, options, sentence)[0] for sentence in SENTENCES]


@functools.cache
def shared_bilm():
    with tempfile.TemporaryDirectory() as folder:
        return make_bilm(pathlib.Path(folder))[2]


def make(**kwargs):
    """Returns an Elmo with random mixes, and the oracle's layers of every sentence."""
    elmo = Elmo(shared_bilm(), **{"dropout": 0.0, "fine_tune": True, **kwargs})
    for mix, (scalars, gamma) in zip(elmo.mixes, MIXES, strict=False):
        mix.gamma.assign(gamma)
        if not elmo.top_only and elmo.mix_weights is None:
            mix.scalar_weights.assign(scalars)
    return elmo, layers_of_oracle()


def assert_rows(representation, expected):
    for row, wanted in zip(representation.numpy(), expected, strict=True):
        assert_close(row[: len(wanted)], wanted)
        np.testing.assert_array_equal(row[len(wanted) :], 0.0)


def test_mixes_are_independent_and_share_one_pass():
    elmo, layers = make(num_output_representations=2)
    out = elmo(batch_to_ids(SENTENCES))
    assert len(out["elmo_representations"]) == 2
    for representation, mix in zip(out["elmo_representations"], MIXES, strict=True):
        assert_rows(representation, [by_hand.scalar_mix(x[:, 1:-1], *mix) for x in layers])
    np.testing.assert_array_equal(out["sequence_output"], out["elmo_representations"][0])
    assert out["mask"].numpy().sum(axis=1).tolist() == [len(s) for s in SENTENCES]
    assert out["layer_outputs"].shape == (4, 3, 10, 8)


def test_boundaries_can_be_kept():
    elmo, layers = make(keep_sentence_boundaries=True)
    out = elmo(batch_to_ids(SENTENCES))
    assert_rows(out["sequence_output"], [by_hand.scalar_mix(x, *MIXES[0]) for x in layers])
    assert out["mask"].numpy().sum(axis=1).tolist() == [len(s) + 2 for s in SENTENCES]
    assert out["layer_outputs"].shape == (4, 3, 12, 8)


@pytest.mark.few(1)
@pytest.mark.parametrize("kept", [False, True])
def test_layer_norm_of_allennlp_counts_the_boundaries(kept):
    elmo, layers = make(layer_norm="allennlp", keep_sentence_boundaries=kept)
    out = elmo(batch_to_ids(SENTENCES))["sequence_output"]
    mixed = [by_hand.scalar_mix(x, *MIXES[0]) for x in oracles.normalized(layers, 1e-13)]
    assert_rows(out, mixed if kept else [x[1:-1] for x in mixed])


def test_layer_norm_of_bilm_tf_does_not():
    elmo, layers = make(layer_norm="bilm_tf")
    normalized = oracles.normalized([x[:, 1:-1] for x in layers], 1e-12)
    mixed = [by_hand.scalar_mix(x, *MIXES[0]) for x in normalized]
    assert_rows(elmo(batch_to_ids(SENTENCES))["sequence_output"], mixed)


@pytest.mark.slow
def test_layer_norm_of_the_top_alone():
    """bilm-tf's `weight_layers(use_top_only=True, do_layer_norm=True)` does not normalize."""
    top, layers = make(top_only=True, layer_norm="bilm_tf")
    ids = batch_to_ids(SENTENCES)
    assert_rows(top(ids)["sequence_output"], [0.7 * x[-1, 1:-1] for x in layers])
    assert Elmo.from_config(top.get_config()).layer_norm == "bilm_tf"
    allennlp = Elmo(top.bilm, dropout=0.0, top_only=True, layer_norm="allennlp")
    normalized = oracles.normalized([x[-1:] for x in layers], 1e-13)
    assert_rows(allennlp(ids)["sequence_output"], [x[0, 1:-1] for x in normalized])


def test_the_top_alone_and_a_fixed_mix():
    top, layers = make(top_only=True)
    out = top(batch_to_ids(SENTENCES))["sequence_output"]
    assert_rows(out, [0.7 * x[-1, 1:-1] for x in layers])
    fixed = Elmo(top.bilm, dropout=0.0, mix_weights=[-9e10, 1.0, -9e10])
    out = fixed(batch_to_ids(SENTENCES))["sequence_output"]
    assert_rows(out, [x[1, 1:-1] for x in layers])
    assert fixed.trainable_weights == []


def test_dropout_falls_on_each_output_alone_in_training():
    elmo, _ = make(num_output_representations=2, dropout=0.5)
    ids = batch_to_ids(SENTENCES)
    plain = elmo(ids)["elmo_representations"]
    dropped = elmo(ids, training=True)["elmo_representations"]
    for before, after in zip(plain, dropped, strict=True):
        zero = after.numpy() == 0.0
        real = before.numpy() != 0.0
        assert 0.3 < zero[real].mean() < 0.7
        assert_close(after.numpy()[~zero], 2.0 * before.numpy()[~zero])
    assert ((dropped[0].numpy() == 0.0) != (dropped[1].numpy() == 0.0)).any()


def test_what_trains(tmp_path):
    _, _, bilm = make_bilm(tmp_path)
    frozen = Elmo(bilm, num_output_representations=2, dropout=0.0)
    names = {weight.path for weight in frozen.trainable_weights}
    assert names == {f"mix_{k}/{w}" for k in range(2) for w in ("gamma", "scalar_weights")}
    tuned = Elmo(bilm, dropout=0.0, fine_tune=True)
    assert len(tuned.trainable_weights) == 2 + len(bilm.weights)
    top = Elmo(bilm, dropout=0.0, fine_tune=True, trainable=False)
    assert keras.Sequential([top]).trainable_weights == []


@pytest.mark.slow
def test_the_bilm_that_was_given_stays_as_it_is(tmp_path):
    _, _, bilm = make_bilm(tmp_path, initial_state="carry")
    ids = batch_to_ids(SENTENCES)
    bilm(ids)
    tuned, frozen = Elmo(bilm, dropout=0.0, fine_tune=True), Elmo(bilm, dropout=0.0)
    assert tuned.bilm is bilm and frozen.bilm is not bilm
    assert bilm.trainable and len(bilm.trainable_weights) == len(bilm.weights) - 4
    assert frozen.bilm.trainable_weights == [] and frozen.bilm.name == bilm.name
    np.testing.assert_array_equal(frozen(ids)["layer_outputs"], bilm(ids)["layer_outputs"])
    for part in (*bilm.weights, *frozen.bilm.weights):
        part.assign(tf.ones_like(part))
    frozen.trainable = True
    assert len(frozen.trainable_weights) == 2 and bilm.trainable
    still, again = Elmo(frozen.bilm), Elmo(frozen.bilm, fine_tune=True)
    assert still.bilm is frozen.bilm and again.bilm is not frozen.bilm
    assert again.bilm.trainable and not frozen.bilm.trainable


@pytest.mark.slow
@pytest.mark.parametrize("make_encoder", [Elmo, lambda bilm: bilm], ids=["Elmo", "BiLM"])
def test_as_the_encoder_of_a_head(tmp_path, make_encoder):
    """Equals plain loops for ids, tokens, sentences and dicts, alone and in a batch."""
    options, weights, bilm = make_bilm(tmp_path)
    encoder = make_encoder(bilm)
    kernel = np.random.default_rng(4).normal(size=(8, 3))
    tagger = Tagger(encoder, ["a", "b", "c"], use_crf=False)
    classifier = Classifier(encoder, ["a", "b", "c"])
    assert encoder.output_dim == 8
    for head in tagger, classifier:
        head.kernel.assign(kernel)
    layers = [by_hand.bilm(weights, options, sentence)[0][:, 1:-1] for sentence in SENTENCES]
    vectors = [x[-1] if encoder is bilm else x.mean(axis=0) for x in layers]
    ids = batch_to_ids(SENTENCES)
    longest = max(map(len, SENTENCES))
    tokens = tf.constant([[*row, *[""] * (longest - len(row))] for row in SENTENCES])
    texts = tf.constant([" ".join(row) for row in SENTENCES])
    for given in ids, tokens, texts, {"character_ids": ids}:
        emissions = tagger(given)["emissions"]
        for row, vector in enumerate(vectors):
            assert_close(emissions[row, : len(vector)], vector @ kernel)
            np.testing.assert_array_equal(emissions[row, len(vector) :], 0.0)
    logits = classifier(texts)["logits"]
    for row, vector in enumerate(vectors):
        mean = (vector @ kernel).mean(axis=0) if len(vector) else np.zeros(3)
        assert_close(logits[row], mean)
    tags = tagger.tag(texts[1:2])["tags"]  # alone gives the same as in a batch
    np.testing.assert_array_equal(tags, (vectors[1] @ kernel).argmax(axis=-1)[None])
    assert tagger._num_characters == classifier._num_characters == 50


def test_a_mask_among_the_features(tmp_path):
    _, _, bilm = make_bilm(tmp_path)
    ids = batch_to_ids([["The", "dog", "sat"]])
    short = bilm({"character_ids": ids, "mask": np.array([[True, True, False]])})
    assert_close(short["sequence_output"][:, :2], bilm(ids[:, :2])["sequence_output"])
    with pytest.raises(ValueError, match="must have character_ids; 'character_ids' is"):
        bilm({"token_ids": np.array([[1, 2, 0]])})


@pytest.mark.slow
def test_a_tagger_on_an_elmo_trains_saves_and_exports(tmp_path):
    _, _, bilm = make_bilm(tmp_path)
    elmo = Elmo(bilm, dropout=0.1, fine_tune=True)
    model = Tagger(elmo, ["small", "large"], dropout=0.1)
    model.compile(keras.optimizers.Adam(0.05))
    dataset = tf.data.Dataset.from_tensors((tf.constant(TEXTS), TAGS))
    history = model.fit(dataset, epochs=4, verbose=0, shuffle=False).history["loss"]
    assert history[-1] < history[0]
    expected = model(tf.constant(TEXTS))["emissions"]
    model.save(tmp_path / "tagger.keras")
    loaded = keras.saving.load_model(tmp_path / "tagger.keras")
    np.testing.assert_array_equal(loaded(tf.constant(TEXTS))["emissions"], expected)
    model.export(tmp_path / "ids", verbose=False)
    served = tf.saved_model.load(tmp_path / "ids")
    tagged = model.tag(tf.constant(TEXTS))
    ids = batch_to_ids(TOKENS)
    for given in ids, {"character_ids": ids}:
        found = served.serve(given)
        np.testing.assert_array_equal(found["tags"], tagged["tags"])
        assert_close(found["confidences"], tagged["confidences"])
    strings = [tf.TensorSpec([None], tf.string, "text")]
    model.export(tmp_path / "texts", verbose=False, input_signature=strings)
    served = tf.saved_model.load(tmp_path / "texts")
    found = served.serve(tf.constant(TEXTS))
    assert_close(found["confidences"], tagged["confidences"])


@pytest.mark.few(1)
@pytest.mark.parametrize("fine_tune", [False, True])
def test_what_trains_is_the_same_after_a_config(tmp_path, fine_tune):
    """Keras does not inform inner layers that their model was created frozen."""
    _, _, bilm = make_bilm(tmp_path)
    elmo = Elmo(bilm, fine_tune=fine_tune)
    for model in (elmo, elmo.bilm, elmo.bilm.token_encoder, elmo.bilm.bilstm):
        copy = type(model).from_config(model.get_config())
        if not copy.built:
            copy.build((None, None, 50 if model is elmo.bilm.token_encoder else 4))
        parent = keras.Sequential([copy])
        assert len(parent.trainable_weights) == len(model.trainable_weights)


def test_l2_is_part_of_the_loss():
    elmo, _ = make(num_output_representations=2, l2=0.1)
    expected = 0.1 * sum(w * w for scalars, _ in MIXES for w in scalars)
    assert_close(float(sum(elmo.losses)), expected)


@pytest.mark.slow
@pytest.mark.parametrize("initial_state", ["zero", "warm"])
def test_a_state_of_the_bilm_is_kept_inside(tmp_path, initial_state):
    _, _, bilm = make_bilm(tmp_path, initial_state=initial_state)
    elmo = Elmo(bilm, dropout=0.0)
    ids = batch_to_ids(SENTENCES)
    expected = bilm(ids)["layer_outputs"].numpy().mean(axis=1)
    assert_close(elmo(ids)["sequence_output"], expected)


# Inside model.fit: tag the words that are in capitals.
TEXTS = ["the Dog sat", "a Bank", "the River was high", "Rain"]
TOKENS = [text.split() for text in TEXTS]
PADDED = np.array([(tokens + [""] * 4)[:4] for tokens in TOKENS])
TAGS = np.array([[token[:1].isupper() for token in row] for row in PADDED]).astype("int32")
INPUTS = {
    "character ids": (lambda: keras.Input([None, 50], dtype="int32"), batch_to_ids(TOKENS)),
    "tokens": (lambda: keras.Input([None], dtype="string"), tf.constant(PADDED)),
    "sentences": (lambda: keras.Input([], dtype="string"), tf.constant(TEXTS)),
}


def tagger(bilm, kind, fine_tune):
    make_input, data = INPUTS[kind]
    inputs = make_input()
    elmo = Elmo(bilm, dropout=0.1, fine_tune=fine_tune, name="elmo")
    scores = keras.layers.Dense(2, activation="softmax")(elmo(inputs)["sequence_output"])
    model = keras.Model(inputs, scores)
    model.compile(keras.optimizers.Adam(0.05), loss="sparse_categorical_crossentropy")
    return model, data


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, fine_tune",
    [
        ("character ids", False),
        pytest.param("tokens", False, marks=pytest.mark.slow),
        pytest.param("sentences", True, marks=pytest.mark.slow),
    ],
)
def test_a_tagger_trains_saves_and_loads(tmp_path, kind, fine_tune):
    _, _, bilm = make_bilm(tmp_path, initial_state="warm")
    before = bilm.get_weights()
    model, data = tagger(bilm, kind, fine_tune)
    bilm = model.get_layer("elmo").bilm
    dataset = tf.data.Dataset.from_tensors((data, TAGS))
    history = model.fit(dataset, epochs=4, verbose=0, shuffle=False).history["loss"]
    assert history[-1] < history[0]
    changed = [(a != b).any() for a, b in zip(before, bilm.get_weights(), strict=True)]
    if fine_tune:
        assert sum(changed) == len(bilm.trainable_weights)  # the warm state does not change
    else:
        assert not any(changed)
    assert any(float(w) != 1.0 for w in model.trainable_weights if w.path.endswith("gamma"))
    expected = model(data)
    model.save(tmp_path / "tagger.keras")
    loaded = keras.saving.load_model(tmp_path / "tagger.keras")
    np.testing.assert_array_equal(loaded(data), expected)
    assert len(loaded.trainable_weights) == len(model.trainable_weights)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"layer_norm": "batch"}, "`layer_norm` must be one of .* got 'batch'"),
        (
            {"mix_weights": [0.0, 1.0]},
            "`mix_weights` must have one value for each of the .* layers .* 2 values",
        ),
    ],
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        Elmo(BiLM(filters=[[1, 4]], units=4, projection_dim=4), **options)


def test_a_config_is_not_used_up():
    elmo = Elmo(BiLM(filters=[[1, 4]], units=4, projection_dim=4))
    config = elmo.get_config()
    Elmo.from_config(config)
    assert config.keys() == elmo.get_config().keys()
