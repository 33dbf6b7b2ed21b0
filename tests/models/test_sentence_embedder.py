"""SentenceEmbedder: its vectors and both losses against plain loops, training and saving."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.models import SentenceEmbedder, TokenEmbedder

RNG = np.random.default_rng(5)
FIRST, SECOND, THIRD = ({"token_ids": RNG.integers(1, 10, [6, 4]).astype("int32")} for _ in "abc")
SECOND["token_ids"][2, 1:] = 0  # a short text
THIRD["token_ids"][:, 3:] = 0
DENSE = [{"units": 5, "activation": "tanh"}, {"units": 3, "use_bias": False}]


def make(**options):
    keras.utils.set_random_seed(2)
    return SentenceEmbedder(TokenEmbedder(9, 4, dropout=0.0), **options)


def oracle(model, features):
    """Returns the vectors of texts, computed one by one."""
    found = []
    table = np.asarray(model.encoder.weights[0])
    for ids in features["token_ids"]:
        tokens = [table[i] for i in ids if i]
        kinds = {
            "mean": lambda t: sum(t) / len(t),
            "mean_sqrt": lambda t: sum(t) / len(t) ** 0.5,
            "max": lambda t: [max(column) for column in zip(*t, strict=True)],
            "first": lambda t: t[0],
        }
        pooling = [model.pooling] if isinstance(model.pooling, str) else model.pooling
        v = np.concatenate([kinds[kind](tokens) for kind in pooling])
        for layer in model.dense_layers:
            v = v @ np.asarray(layer.kernel) + (np.asarray(layer.bias) if layer.use_bias else 0)
            v = np.tanh(v) if layer.activation is keras.activations.tanh else v
        found.append(v / sum(v * v) ** 0.5 if model.normalize else v)
    return np.array(found)


def cosine(a, b):
    return sum(a * b) / (sum(a * a) * sum(b * b)) ** 0.5


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pooling": "mean_sqrt", "normalize": True},
        {"pooling": ["first", "max"], "dense": DENSE},
        {"pooling": ["mean"], "dense": DENSE[:1], "normalize": True},
    ],
)
def test_vectors_are_those_of_plain_loops(options):
    model = make(**options)
    for weight in model.trainable_weights[1:]:
        weight.assign(RNG.normal(size=weight.shape))
    assert_close(model(SECOND)["vectors"], oracle(model, SECOND))
    assert model.vector_dim == model(SECOND)["vectors"].shape[1]
    both = model({"first": FIRST, "second": SECOND})["vectors"]
    assert_close(both[:, 1], oracle(model, SECOND))


def test_a_text_without_tokens_has_a_vector_of_zeros():
    for normalize in True, False:
        vectors = make(normalize=normalize)({"token_ids": np.zeros([2, 3], "int32")})["vectors"]
        np.testing.assert_array_equal(vectors, np.zeros([2, 4]))


@pytest.mark.parametrize("hard", [False, True])
def test_negatives_of_the_batch(hard):
    model = make(scale=7.0)
    model.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
    x = {"first": FIRST, "second": SECOND, **({"third": THIRD} if hard else {})}
    first, *others = (oracle(model, texts) for texts in x.values())
    candidates = np.concatenate(others)
    losses, right = [], []
    for i, a in enumerate(first):
        scores = [7.0 * cosine(a, c) for c in candidates]
        losses.append(np.log(sum(np.exp(scores))) - scores[i])
        right.append(np.argmax(scores) == i)
    logs = model.train_on_batch(x, return_dict=True)
    assert_close(logs["loss"], np.mean(losses))
    assert_close(logs["accuracy"], np.mean(right))
    weights = np.array([0, 1, 2, 0, 1, 1], "float32")
    logs = model.test_on_batch(x, sample_weight=weights, return_dict=True)
    assert_close(logs["loss"], weights @ losses / 6)
    assert_close(logs["accuracy"], np.mean(np.array(right)[weights > 0]))


def test_labeled_similarities():
    model = make()
    model.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
    y = RNG.uniform(-1, 1, 6).astype("float32")
    first, second = oracle(model, FIRST), oracle(model, SECOND)
    losses = [(cosine(a, b) - t) ** 2 for a, b, t in zip(first, second, y, strict=True)]
    x = {"first": FIRST, "second": SECOND}
    assert_close(model.train_on_batch(x, y, return_dict=True)["loss"], np.mean(losses))
    assert_close(model.evaluate(x, y, batch_size=3, verbose=0)[0], np.mean(losses))


@pytest.mark.slow
def test_training_finds_pairs_and_is_saved(tmp_path):
    """The second text has the tokens of the first in another order."""
    ids = RNG.integers(1, 10, [256, 4]).astype("int32")
    x = {"first": {"token_ids": ids}, "second": {"token_ids": RNG.permuted(ids, axis=1)}}
    x["second"]["token_ids"][:, 0] = RNG.integers(1, 10, 256)  # replaces one token
    model = make(pooling=["mean", "max"], dense=DENSE[:1], normalize=True)
    model.compile(keras.optimizers.Adam(0.02))
    losses = model.fit(x, batch_size=32, epochs=6, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(FIRST)["vectors"], model(FIRST)["vectors"])
    assert again.predict(FIRST, verbose=0)["vectors"].shape == (6, 5)


def test_a_text_without_tokens_has_finite_gradients():
    model = make(normalize=True)
    empty = {"token_ids": np.zeros([6, 2], "int32")}
    with tf.GradientTape() as tape:
        y_pred = model({"first": FIRST, "second": empty})
        loss = model.compute_loss(y_pred=y_pred)
    gradient = tf.convert_to_tensor(tape.gradient(loss, model.trainable_weights[0]))
    assert np.isfinite(gradient).all() and np.isfinite(loss)


def test_errors():
    for options, message in [
        ({"pooling": "sum"}, "`pooling` must be one of .*; got 'sum'"),
        ({"pooling": []}, "`pooling` must contain at least one kind"),
        ({"dense": [{"activation": "tanh"}]}, "must be a dict with `units`"),
        ({"dense": [{"units": 2, "name": "x"}]}, "must be a dict with `units`"),
        ({"scale": 0.0}, "`scale` must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(**options)
    with pytest.raises(ValueError, match="Sequential has none"):
        SentenceEmbedder(keras.Sequential([keras.layers.Dense(3)]))
    model = make()
    model.compile("sgd")
    with pytest.raises(ValueError, match="must have pairs of texts"):
        model.train_on_batch(FIRST)
    with pytest.raises(ValueError, match=r"must also have those of `second` texts; got \['first'"):
        model({"first": FIRST})
    with pytest.raises(ValueError, match="must be None for rows of three texts"):
        model.train_on_batch({"first": FIRST, "second": SECOND, "third": THIRD}, np.ones(6))
    before = model.get_weights()
    for wrong in 4.5, np.nan:
        with pytest.raises(tf.errors.InvalidArgumentError, match="similarities from -1 to 1"):
            model.train_on_batch({"first": FIRST, "second": SECOND}, np.full(6, wrong))
    for weight, old in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, old)  # a rejected batch changes nothing


def test_a_graph_of_any_shape():
    model = make(normalize=True)
    call = tf.function(model, input_signature=[{"token_ids": tf.TensorSpec([None, None], "int32")}])
    assert_close(call(FIRST)["vectors"], model(FIRST)["vectors"])
