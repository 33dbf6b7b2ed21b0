"""Tests Tagger: training, legal tags, weights, saving, export."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.models.toy import TAGS, VOCABULARY_SIZE, sentences, tagged
from tfreps import tags as schemes
from tfreps.models import BiLSTMEncoder, LinearEncoder, Tagger, TokenEmbedder

pytestmark = pytest.mark.usefixtures("eager_if_quick")


def make(**kwargs):
    embedder = TokenEmbedder(vocabulary_size=VOCABULARY_SIZE, embedding_dim=8)
    options = {"scheme": "bio", "dropout": 0.0, **kwargs}
    return Tagger(BiLSTMEncoder(embedder, units=12), TAGS, **options)


def randomize(model, scale=3.0):
    rng = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(scale * rng.normal(size=weight.shape))


def illegal(outputs):
    rows = zip(outputs["tags"], outputs["mask"], strict=True)
    named = [[TAGS[i] for i in tags[mask]] for tags, mask in rows]
    return sum(len(schemes.illegal_transitions(tags, "bio")) for tags in named)


@pytest.mark.slow
@pytest.mark.parametrize("use_crf", [True, False])
def test_learns_saves_and_loads(use_crf, tmp_path):
    model = make(use_crf=use_crf, dropout=0.1)
    model.compile(keras.optimizers.Adam(0.02))
    history = model.fit(tagged(), validation_data=tagged(64, seed=1), epochs=12, verbose=0).history
    assert sorted(history) == ["loss", "val_accuracy", "val_loss", "val_span_f1"]
    assert history["val_span_f1"][-1] > 0.95 and history["val_accuracy"][-1] > 0.97
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    one, other = model.predict(tagged(64)), loaded.predict(tagged(64))
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])
    assert_close(
        loaded.evaluate(tagged(64, seed=1), verbose=0, return_dict=True),
        {name[4:]: figures[-1] for name, figures in history.items() if "val_" in name},
    )
    assert len(loaded.trainable_weights) == len(model.trainable_weights)


def test_a_linear_model_adds_its_scores():
    linear = LinearEncoder(VOCABULARY_SIZE, len(TAGS), num_buckets=100)
    model = make(linear=linear)
    randomize(model, 1.0)
    features = {"token_ids": sentences(8)[0]}
    with_linear = model(features)["emissions"]
    added = linear(features)["sequence_output"]
    model.linear = None
    without = model(features)["emissions"]
    assert_close(with_linear, without + added)


@pytest.mark.slow
@pytest.mark.parametrize("use_crf", [True, False])
def test_predict_tells_tags_and_their_marginals(use_crf):
    model = make(use_crf=use_crf, constrain="none")
    randomize(model, 1.0)
    features = {"token_ids": sentences(16)[0]}
    out, outputs = model.predict(features, verbose=0), model(features)
    assert {n: a.dtype.name for n, a in out.items()} == {
        "tags": "int32",
        "confidences": "float32",
        "mask": "bool",
        "spans": "int32",
        "span_confidences": "float32",
    }
    mask = features["token_ids"] > 0
    np.testing.assert_array_equal(out["mask"], mask)
    assert not out["tags"][~mask].any() and not out["confidences"][~mask].any()
    if use_crf:
        marginals = model.crf.marginals(outputs["emissions"], outputs["mask"]).numpy()
    else:
        marginals = tf.nn.softmax(outputs["emissions"]).numpy()
        np.testing.assert_array_equal(out["tags"][mask], marginals.argmax(-1)[mask])
    expected = np.take_along_axis(marginals, out["tags"][..., None], -1)[..., 0]
    assert_close(out["confidences"][mask], expected[mask])


@pytest.mark.slow
@pytest.mark.parametrize("use_crf", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_illegal_sequences_never_come_out(use_crf):
    wild = make(use_crf=use_crf, constrain="none")
    randomize(wild)
    assert illegal(wild.predict(tagged())) > 0
    for constrain in "both", "decode":
        tame = make(use_crf=use_crf, constrain=constrain)
        tame.set_weights(wild.get_weights())
        assert illegal(tame.predict(tagged())) == 0
        paths = tame.decode({"token_ids": sentences(32)[0]}, k=2)[0].numpy()
        mask = sentences(32)[0] > 0
        assert illegal({"tags": paths[:, 0], "mask": mask}) == 0
        long = mask.sum(axis=1) > 1
        assert illegal({"tags": paths[long, 1], "mask": mask[long]}) == 0
        assert (paths[long, 0] != paths[long, 1]).any(axis=1).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("rank, run_eagerly", [(1, True), (None, False), (1, False), (2, False)])
def test_the_logged_loss_leaves_out_sentences_with_forbidden_tags(rank, run_eagerly):
    model = make()
    model.compile(keras.optimizers.SGD(0.0), run_eagerly=run_eagerly)
    ids, y = (
        np.array([[4, 7, 2], [3, 6, 0], [5, 1, 8]]),
        np.array([[0, 1, 2], [0, 2, 0], [1, 0, 0]]),
    )
    assert illegal({"tags": y, "mask": ids > 0}) == 1  # in the second sentence
    features = {"token_ids": ids}
    weights = {None: None, 1: np.array([2.0, 3.0, 0.5]), 2: np.full([3, 3], 2.0)}[rank]
    kept = {"token_ids": ids[[0, 2]]}
    given = None if weights is None else weights[[0, 2]]
    expected = model.evaluate(kept, y[[0, 2]], sample_weight=given, verbose=0)[0]
    for size in 1, 2:  # `fit` below has all three sentences in one batch
        found = model.evaluate(features, y, size, 0, weights)[0]
        assert_close(found, expected, magnitude=30.0)
    history = model.fit(features, y, sample_weight=weights, batch_size=3, verbose=0).history
    assert_close(history["loss"], [expected], magnitude=30.0)
    model.compile(
        keras.optimizers.SGD(1.0), run_eagerly=run_eagerly
    )  # the sentence still moves the weights
    before = model.get_weights()
    model.train_on_batch({"token_ids": ids[1:2]}, y[1:2])
    assert any((a != b).any() for a, b in zip(before, model.get_weights(), strict=True))
    free = make(constrain="decode")
    free.set_weights(model.get_weights())
    assert (
        free.compute_loss(y=y, y_pred=free(features))
        < 100.0
        < model.compute_loss(y=y, y_pred=model(features))
    )


def test_the_loss_is_the_heads():
    ids, tags = sentences(8)
    features, weight = {"token_ids": ids}, np.linspace(0.5, 2.0, 8).astype("float32")
    with_crf, without = make(), make(use_crf=False)
    for model in with_crf, without:
        randomize(model, 0.5)
        model.compile("sgd")
    outputs = with_crf(features)
    nll = -with_crf.crf.log_likelihood(outputs["emissions"], np.maximum(tags, 0), outputs["mask"])
    per_token = np.broadcast_to(weight[:, None], tags.shape)
    for given in weight, per_token:
        found = with_crf.compute_loss(y=tags, y_pred=outputs, sample_weight=given)
        assert_close(found, (weight * nll.numpy()).mean())
    outputs = without(features)
    log = tf.nn.log_softmax(outputs["emissions"]).numpy()
    nll = np.array(
        [
            -sum(row[t, tag] for t, tag in enumerate(y) if tag >= 0)
            for row, y in zip(log, tags, strict=True)
        ]
    )
    for given in weight, per_token:
        found = without.compute_loss(y=tags, y_pred=outputs, sample_weight=given)
        assert_close(found, (weight * nll).mean())


@pytest.mark.parametrize("use_crf", [True, False])
def test_reductions_of_the_loss(use_crf):
    """The sum over the sentences is divided by their number, that of their tokens, or nothing."""
    ids, tags = sentences(6)
    model = make(use_crf=use_crf)
    randomize(model, 0.5)
    model.compile("sgd")
    outputs = model({"token_ids": ids})
    mean = float(model.compute_loss(y=tags, y_pred=outputs))
    logged = float(model.sentence_loss.result())
    for reduction, divisor in ("token_mean", (tags >= 0).sum()), ("sum", 1):
        other = Tagger.from_config({**model.get_config(), "reduction": reduction})
        other.set_weights(model.get_weights())
        other.compile("sgd")
        found = other.compute_loss(y=tags, y_pred=other({"token_ids": ids}))
        assert_close(found, mean * 6 / divisor)
        assert_close(other.sentence_loss.result(), logged)


def test_jit_compile_of_keras():
    """Keras says that the model cannot be compiled by XLA, and trains without it."""
    model = make()
    with pytest.warns(UserWarning, match="Model doesn't support `jit_compile=True`"):
        model.compile("sgd", jit_compile=True)
    assert not model.jit_compile


@pytest.mark.slow
def test_the_compiled_loss_is_the_same():
    ids, tags = sentences(8)
    losses = []
    for jit_compile in False, True:
        model = make(crf_jit_compile=jit_compile)
        randomize(model, 0.5)
        model.compile(keras.optimizers.SGD(0.1))
        losses.append([model.train_on_batch({"token_ids": ids}, tags) for _ in range(3)])
    assert_close(*losses)


@pytest.mark.parametrize("use_crf", [True, False])
def test_a_sentence_of_weight_zero_is_not_there(use_crf):
    ids, tags = sentences(8)
    wrong, weight = tags.copy(), np.ones([8], "float32")
    wrong[3], weight[3] = (tags[3] + 1) % 3, 0.0
    model = make(use_crf=use_crf, constrain="none")
    model.compile("sgd")
    outputs = model({"token_ids": ids})
    losses = [model.compute_loss(y=y, y_pred=outputs, sample_weight=weight) for y in (tags, wrong)]
    assert_close(*losses)


def test_losses_of_layers_are_added():
    model = make()
    model.compile("sgd")
    ids, tags = sentences(4)
    outputs = model({"token_ids": ids})
    before = model.compute_loss(y=tags, y_pred=outputs)
    model.encoder.add_weight(shape=(), initializer="ones", regularizer=keras.regularizers.L2(3.0))
    after = model.compute_loss(y=tags, y_pred=outputs)
    assert float(after - before) == pytest.approx(3.0, abs=1e-4)


@pytest.mark.slow
def test_a_softmax_never_learns_transitions():
    model = make(use_crf=False)
    model.trainable = False
    model.trainable = True
    model.compile(keras.optimizers.Adam(0.1))
    model.fit(tagged(32), verbose=0)
    assert not np.any(model.crf.transitions)


@pytest.mark.slow
@pytest.mark.parametrize("use_crf", [True, False])
def test_tag_ids_out_of_range(use_crf):
    model = make(use_crf=use_crf)
    model.compile("sgd")
    features = {"token_ids": np.ones([2, 3], "int32")}
    for wrong in -1, 3:
        with pytest.raises(tf.errors.InvalidArgumentError, match="`y` must lie in 0..2"):
            model.train_on_batch(features, np.full([2, 3], wrong))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tags": ["O", "O"]}, "list of distinct"),
        ({"tags": ["O", ""]}, "non-empty strings"),
        ({"tags": []}, "must be a non-empty list"),
        ({"tags": ["O", "PER"]}, "'PER'"),
        ({"constrain": "loss"}, "`constrain` must be one of .*; got 'loss'"),
        ({"reduction": "none"}, "`reduction` must be one of .*; got 'none'"),
        ({"use_projection": False}, r"one score per tag \(3\); .* width 4"),
        ({"linear": LinearEncoder(5, 4, num_buckets=9)}, r"one unit per tag \(3\); got 4"),
    ],
)
def test_wrong_options(options, message):
    embedder = TokenEmbedder(vocabulary_size=5, embedding_dim=4)
    with pytest.raises(ValueError, match=message):
        Tagger(embedder, **{"tags": TAGS, "scheme": "bio", **options})


def test_initializers_regularizers_and_own_transitions():
    allowed = np.ones([5, 5], bool)
    allowed[:, 0] = False  # no O
    model = make(
        allowed_transitions=allowed,
        kernel_initializer="ones",
        kernel_regularizer=keras.regularizers.L2(0.5),
        transition_initializer=keras.initializers.Constant(2.0),
        score_regularizer="l1",
    )
    np.testing.assert_array_equal(model.crf.transitions, np.full([3, 3], 2.0))
    assert_close(sum(model.losses), 0.5 * 24 * 3 + 0.01 * 9 * 2.0)
    tags, _ = model.decode({"token_ids": sentences(8)[0]}, padded=False)
    assert {tag for row in tags for tag in row} <= {1, 2}
    assert [len(row) for row in tags] == (sentences(8)[0] > 0).sum(-1).tolist()
    copy = Tagger.from_config(model.get_config())
    np.testing.assert_array_equal(copy.crf.transitions, model.crf.transitions)
    np.testing.assert_array_equal(copy.crf.allowed_transitions, allowed)
    assert_close(sum(copy.losses), sum(model.losses))


def test_an_encoder_without_a_width():
    with pytest.raises(ValueError, match="got a Dense, in which no such output"):
        Tagger(keras.layers.Dense(3), TAGS)


@pytest.mark.slow
def test_training_shows_the_mean_loss_of_sentences():
    """Batches of 3 and 1 sentences have the weights of `SequenceBatches`; the rate is 0."""
    model = make()
    randomize(model, 0.3)
    model.compile(keras.optimizers.SGD(0.0))
    ids, tags = sentences(4)
    parts = [(ids[:3], tags[:3], 1.5), (ids[3:], tags[3:], 0.5)]
    batches = [
        ({"token_ids": x, "batch_weight": w}, y, w)
        for x, y, size in parts
        for w in [np.full(len(x), size, "float32")]
    ]
    ids_spec, weight_spec = tf.TensorSpec([None, None], "int32"), tf.TensorSpec([None], "float32")
    spec = {"token_ids": ids_spec, "batch_weight": weight_spec}, ids_spec, weight_spec
    data = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec)
    data = data.apply(tf.data.experimental.assert_cardinality(2))
    shown = model.fit(data, verbose=0).history["loss"][0]
    expected = model.evaluate({"token_ids": ids}, tags, verbose=0, return_dict=True)["loss"]
    assert_close(shown, expected)


@pytest.mark.parametrize("run_eagerly", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("use_crf", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_soft_labels_train_and_evaluate_like_tags(use_crf, run_eagerly):
    ids, tags = sentences(8)
    features, soft = {"token_ids": ids}, np.eye(len(TAGS))[tags].astype("float32")
    weight = np.linspace(0.5, 2.0, 8).astype("float32")
    model = make(use_crf=use_crf)
    randomize(model, 1.0)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=run_eagerly)
    start = model.get_weights()
    expected = model.evaluate(features, tags, sample_weight=weight, verbose=0, return_dict=True)
    found = model.evaluate(features, soft, sample_weight=weight, verbose=0, return_dict=True)
    assert_close(found, expected)
    model.fit(features, tags, sample_weight=weight, verbose=0)
    expected = model.get_weights()
    model.set_weights(start)
    model.fit(features, soft, sample_weight=weight, verbose=0)
    for one, other in zip(model.get_weights(), expected, strict=True):
        assert_close(one, other)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must contain probabilities"):
        model.fit(features, soft / 2, verbose=0)
