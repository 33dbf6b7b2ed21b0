import itertools

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.data import SequenceBatches
from tfreps.metrics import SentenceLoss
from tfreps.text import TokenIndexer

RNG = np.random.default_rng(0)
SENTENCES = [
    [f"w{word}" for word in RNG.integers(0, 50, length)] for length in [*range(12), *range(2, 30)]
]
TAGS = [[int(token[1:]) % 5 for token in sentence] for sentence in SENTENCES]
LABELS = RNG.integers(0, 3, len(SENTENCES)).tolist()
FEATURES = TokenIndexer.from_sentences(SENTENCES, min_count=2, max_characters=5)


def make(targets=TAGS, **options):
    return SequenceBatches(SENTENCES, targets, FEATURES, **{"batch_tokens": 60, **options})


def arrays(dataset):
    return [tf.nest.map_structure(lambda x: x.numpy(), element) for element in dataset]


def assert_equal(some, others):
    some, others = tf.nest.flatten(some), tf.nest.flatten(others)
    assert len(some) == len(others)
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.few(1)
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("multiple", [4, 1])
def test_every_sentence_once(shuffle, multiple):
    batches = make(shuffle=shuffle, length_multiple=multiple)
    for epoch in (0, 3):
        elements = arrays(batches.dataset(epoch))
        assert len(elements) == batches.num_batches(epoch)
        order = iter(batches.order(epoch).tolist())
        for features, y, sample_weight in elements:
            rows, length = y.shape
            assert length % multiple == 0 and (rows == 1 or rows * length <= 60)
            for row, position in enumerate(itertools.islice(order, rows)):
                padding = [""] * (length - len(SENTENCES[position]))
                expected = FEATURES(tf.constant([SENTENCES[position] + padding]))
                for name, value in expected.items():
                    np.testing.assert_array_equal(features[name][row], value[0])
                assert y[row].tolist() == TAGS[position] + [0] * len(padding)
            assert sample_weight.shape == (rows,)
        assert next(order, None) is None
    assert batches.num_tokens == sum(map(len, SENTENCES))
    assert (batches.num_sentences, batches.num_truncated) == (len(SENTENCES), 0)


def test_dtypes():
    features, y, sample_weight = make().dataset().element_spec
    assert features == {
        "token_ids": tf.TensorSpec([None, None], tf.int32),
        "character_ids": tf.TensorSpec([None, None, 5], tf.int32),
        "mask": tf.TensorSpec([None, None], tf.bool),
    }
    assert y == tf.TensorSpec([None, None], tf.int32)
    assert sample_weight == tf.TensorSpec([None], tf.float32)


@pytest.mark.parametrize("targets", [TAGS, LABELS, None])
def test_arrays_are_those_of_the_data_set(targets):
    batches = make(targets, shuffle=True)
    for epoch in 0, 2:
        dataset = batches.dataset(epoch)
        for ours, theirs in zip(batches.arrays(epoch), arrays(dataset), strict=True):
            assert_equal(ours, theirs)
            kinds = tf.nest.map_structure(lambda spec: spec.dtype, dataset.element_spec)
            assert tf.nest.map_structure(lambda array: array.dtype, ours) == kinds
        assert batches.element_spec == dataset.element_spec


@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_one_value_for_each_tag(dtype):
    rows = [np.eye(5)[np.array(tags, int)].astype(dtype) for tags in TAGS]
    ids = [y for _, y, _ in arrays(make(shuffle=True).dataset())]
    for tags, (features, y, _) in zip(ids, arrays(make(rows, shuffle=True).dataset()), strict=True):
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, np.eye(5)[tags] * features["mask"][..., None])
    with pytest.raises(ValueError, match=r"float for each tag; got int32 of shape \(5,\)"):
        make([row.astype("int32") for row in rows])


def test_labels_and_no_targets():
    batches = make(LABELS, shuffle=True)
    labels = np.concatenate([y for _, y, _ in arrays(batches.dataset(2))])
    assert labels.dtype == np.int32 and batches.restore_order(labels, 2) == LABELS
    features = [features for features, _, _ in arrays(batches.dataset(2))]
    for element in features:
        del element["batch_weight"]
    assert_equal(arrays(make(None, shuffle=True).dataset(2)), features)


def test_seeds_epochs_and_resuming():
    batches = make(shuffle=True, seed=4)
    epochs = [arrays(batches.dataset(epoch)) for epoch in range(3)]
    assert_equal(arrays(make(shuffle=True, seed=4).dataset(1)), epochs[1])
    weights = [[len(y) for _, y, _ in epoch] for epoch in epochs]
    assert weights[0] != weights[1] and sorted(weights[0]) == sorted(weights[1])
    size = batches.num_batches()
    assert_equal(arrays(batches.dataset(1, first_batch=3)), epochs[1][3:])
    assert arrays(batches.dataset(1, first_batch=size)) == []
    following = batches.dataset(0, first_batch=size - 1, epochs=3)
    assert_equal(arrays(following), epochs[0][-1:] + epochs[1] + epochs[2])
    assert following.cardinality() == 2 * size + 1
    endless = batches.dataset(1, epochs=None)
    assert endless.cardinality() == tf.data.INFINITE_CARDINALITY
    assert_equal(arrays(endless.take(size + 1)), epochs[1] + epochs[2][:1])


@pytest.mark.parametrize("bad", [(-1, 0, 1), (0, -1, 1), (0, 10_000, 1), (0, 0, 0)])
def test_bad_positions(bad):
    with pytest.raises(ValueError, match="`epoch` must be at least 0, `first_batch` must be in"):
        make().dataset(*bad)


def test_every_sentence_weighs_alike():
    """The mean of the batch means, which Keras computes, is the mean over sentences."""
    losses = RNG.normal(size=len(SENTENCES))
    for weights in (None, RNG.uniform(size=len(SENTENCES))):
        batches = make(shuffle=True, sentence_weights=weights)
        of_batches, order = [], iter(losses[batches.order(5)])
        metric = SentenceLoss()
        for features, _, sample_weight in arrays(batches.dataset(5)):
            own = list(itertools.islice(order, len(sample_weight)))
            of_batches.append(np.mean(own * sample_weight))
            metric.update_state(of_batches[-1], len(own), features["batch_weight"])
        expected = np.mean(losses if weights is None else weights * losses)
        assert_close(np.mean(of_batches), expected)
        assert_close(float(metric.result()), expected, magnitude=2.0)


class SumOfIds(keras.Model):
    """Model that returns one number per sentence."""

    def call(self, features):
        return tf.reduce_sum(features["token_ids"], axis=1, keepdims=True)


def test_unshuffled_in_keras():
    """`evaluate` returns the mean over sentences."""
    model = SumOfIds()
    model.compile(loss="mae")
    loss = model.evaluate(make(LABELS).dataset(), verbose=0)
    sums = [sum(FEATURES([s])["token_ids"].numpy().ravel()) if s else 0 for s in SENTENCES]
    assert_close(loss, np.mean(np.abs(np.array(sums) - LABELS)))


def test_restore_order():
    batches = make()
    lengths = np.concatenate([f["mask"].sum(1) for f, _, _ in arrays(batches.dataset())])
    assert lengths.tolist() == sorted(map(len, SENTENCES))
    assert batches.restore_order(lengths) == [len(sentence) for sentence in SENTENCES]
    with pytest.raises(ValueError, match="one item for each of the 40 sentences; got 2"):
        batches.restore_order([1, 2])


def test_cut():
    batches = make(max_length=10)
    elements = arrays(batches.dataset())
    assert max(y.shape[1] for _, y, _ in elements) == 10
    assert batches.num_truncated == sum(len(sentence) > 10 for sentence in SENTENCES)
    assert batches.num_tokens == sum(min(len(sentence), 10) for sentence in SENTENCES)
    rows = batches.restore_order([row for _, y, _ in elements for row in y.tolist()])
    assert all(row[: len(tags[:10])] == tags[:10] for row, tags in zip(rows, TAGS, strict=True))


def test_few_shapes():
    batches = make(shuffle=True, length_multiple=8, batch_size=5)
    shapes = [{y.shape for _, y, _ in arrays(batches.dataset(epoch))} for epoch in range(4)]
    assert shapes[0] == shapes[1] == shapes[2] == shapes[3] and len(shapes[0]) <= 6


def test_vectors_and_extra(tmp_path):
    stored = [RNG.normal(size=[2, len(s), 3]).astype("float32") for s in SENTENCES]
    with h5py.File(tmp_path / "vectors.hdf5", "w") as file:
        for number, own in enumerate(stored):
            file[str(number)] = own
    allowed = [RNG.uniform(size=[len(sentence), 4]) > 0.5 for sentence in SENTENCES]
    options = {"vectors": tmp_path / "vectors.hdf5", "extra": {"allowed": allowed}}
    batches = make(shuffle=True, max_length=20, **options)
    spec = batches.dataset().element_spec[0]
    assert spec["vectors"] == tf.TensorSpec([None, 2, None, 3], tf.float32)
    assert spec["allowed"] == tf.TensorSpec([None, None, 4], tf.bool)
    order = iter(batches.order(1).tolist())
    for features, _, _ in arrays(batches.dataset(1)):
        for row, position in enumerate(itertools.islice(order, len(features["mask"]))):
            length = min(len(SENTENCES[position]), 20)
            np.testing.assert_array_equal(
                features["vectors"][row, :, :length], stored[position][:, :length]
            )
            np.testing.assert_array_equal(features["allowed"][row, :length], allowed[position][:20])
            assert not features["vectors"][row, :, length:].any()
            assert not features["allowed"][row, length:].any()
    some = SequenceBatches(
        SENTENCES[5:8], None, FEATURES, vectors=options["vectors"], vector_numbers=[5, 6, 7]
    )
    assert some.vector_shape == (stored[5].shape[0], stored[5].shape[2])
    assert make().vector_shape == (0, 0)
    (element,) = arrays(some.dataset())
    np.testing.assert_array_equal(element["vectors"][0, :, :5], stored[5])
    with pytest.raises(
        ValueError, match="sentence 0: the file has vectors of 0 tokens, but .* has 5"
    ):
        SequenceBatches(SENTENCES[5:8], None, FEATURES, vectors=options["vectors"])


def test_one_sentence():
    batches = SequenceBatches([[]], [0], FEATURES)
    features, y, sample_weight = arrays(batches.dataset())[0]
    assert features["mask"].tolist() == [[False]] and y.tolist() == [0]
    assert batches.num_tokens == 0


@pytest.mark.parametrize(
    "options, message",
    [
        ({"targets": TAGS[1:]}, "39 entries for 40 sentences"),
        (
            {"targets": [TAGS[1], *TAGS[1:]]},
            "`targets`, sentence 0 .*: expected 0 values, .* got 1",
        ),
        ({"batch_tokens": 0}, "`batch_tokens` must be at least 1; got 0"),
        ({"batch_size": 0}, "`batch_size` must be at least 1"),
        ({"max_length": 0}, "`max_length` must be at least 1"),
        ({"length_multiple": 0}, "`length_multiple` must be at least 1"),
        ({"seed": -1}, "`seed` must be at least 0; got -1"),
        ({"sentence_weights": [1.0]}, "`sentence_weights` must be 40 finite"),
        ({"sentence_weights": [-1.0] * 40}, "finite non-negative numbers"),
        ({"extra": {"x": TAGS[1:]}}, "`extra.'x'.` must have .* 39 entries for 40 sentences"),
        ({"extra": {"mask": TAGS}}, "`extra` must not contain 'mask'"),
        ({"extra": {"batch_weight": TAGS}}, "`extra` must not contain 'batch_weight'"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_no_sentences():
    with pytest.raises(ValueError, match="at least one sentence"):
        SequenceBatches([], None, FEATURES)
