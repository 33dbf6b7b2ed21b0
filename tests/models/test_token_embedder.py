"""Tests TokenEmbedder: its parts, frozen weights, errors, and an Elmo inside fit."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.models import BiLM, Elmo, Tagger, TokenEmbedder
from tfreps.optimizers import FusedAdam, GroupedOptimizer
from tfreps.text import batch_to_ids

SENTENCES = [["a", "dog", "a"], ["cat"], []]
IDS = np.array([[1, 2, 1], [4, 0, 0], [0, 0, 0]], "int32")
CHARACTERS = batch_to_ids(SENTENCES, max_characters=10)
VECTORS = np.random.default_rng(0).normal(size=[3, 2, 3, 4]).astype("float32")
FEATURES = {"token_ids": IDS, "character_ids": CHARACTERS, "vectors": VECTORS, "mask": IDS > 0}


def tiny_elmo(**kwargs):
    options = {"filters": [[1, 4], [2, 4]], "units": 8, "projection_dim": 4, "character_dim": 4}
    return Elmo(BiLM(**options, num_layers=1, max_characters=10), **{"dropout": 0.0, **kwargs})


def test_joins_its_parts_in_order():
    elmo = tiny_elmo()
    options = {"vocabulary_size": 5, "embedding_dim": 3, "characters": "cnn", "max_characters": 10}
    embedder = TokenEmbedder(**options, bigram_dim=2, elmo=elmo, vector_layers=2, vector_dim=4)
    table = embedder.bigrams.bigrams
    table.assign(np.random.default_rng(1).normal(size=table.shape))
    out = embedder(FEATURES)
    words = np.asarray(embedder.word_embeddings)[IDS]
    pairs = embedder.bigrams({"token_ids": IDS})["sequence_output"]
    characters = embedder.character_encoder(CHARACTERS)
    contextual = elmo(CHARACTERS)["sequence_output"]
    mixed = VECTORS.mean(axis=1)  # a new mix is the average
    expected = np.concatenate([words, pairs, characters, contextual, mixed], axis=-1)
    expected[IDS == 0] = 0.0
    assert_close(out["sequence_output"], expected)
    assert embedder.output_dim == expected.shape[-1] == 3 + 2 + 90 + 8 + 4
    np.testing.assert_array_equal(out["mask"], IDS > 0)


def test_whole_word_vectors_are_dropped():
    """In training, a word vector is dropped as a whole or does not change."""
    embedder = TokenEmbedder(5, 3, word_dropout=0.25)
    ids = np.random.default_rng(0).integers(1, 6, [40, 50])
    words = embedder({"token_ids": ids})["sequence_output"].numpy()
    np.testing.assert_array_equal(words, np.asarray(embedder.word_embeddings)[ids])
    out = embedder({"token_ids": ids}, training=True)["sequence_output"].numpy()
    kept = (out != 0).all(axis=-1)
    np.testing.assert_array_equal(out[~kept], 0.0)
    np.testing.assert_array_equal(out[kept], words[kept])
    assert abs(kept.mean() - 0.75) < 5 * (0.75 * 0.25 / ids.size) ** 0.5  # 5 standard deviations
    with pytest.raises(ValueError, match="`word_dropout` needs a `vocabulary_size`; got 0.5"):
        TokenEmbedder(characters="cnn", word_dropout=0.5)


def test_pairs_of_neighboring_tokens():
    """The vector of a token sums those of its pairs with the neighbors; new pairs have zeros."""
    embedder = TokenEmbedder(5, 3, bigram_dim=2, num_bigram_buckets=997)
    table = np.random.default_rng(0).normal(size=[2 * 997, 2]).astype("float32")
    words = embedder({"token_ids": IDS})["sequence_output"]
    np.testing.assert_array_equal(words[..., 3:], np.zeros([3, 3, 2]))
    embedder.bigrams.bigrams.assign(table)
    start, end = embedder.bigrams.start_id, embedder.bigrams.end_id

    def row(first, second):
        key = (int(first) * embedder.bigrams.num_ids + int(second)) % (2**31 - 1)
        return key * 1327217885 % 2**31 * 997 // 2**31

    expected = np.zeros([3, 3, 2])
    for number, sentence in enumerate([[1, 2, 1], [4]]):
        around = [start, *sentence, end]
        for t in range(len(sentence)):
            expected[number, t] = (
                table[row(*around[t : t + 2])] + table[997 + row(*around[t + 1 : t + 3])]
            )
    out = embedder({"token_ids": IDS})["sequence_output"]
    assert_close(out[..., 3:], expected)
    np.testing.assert_array_equal(out[..., :3], words[..., :3])
    assert embedder._window == (1, 1)
    with pytest.raises(ValueError, match="`bigram_dim` needs a `vocabulary_size`; got 2"):
        TokenEmbedder(characters="cnn", bigram_dim=2)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "options, width",
    [
        ({"vocabulary_size": 5, "embedding_dim": 3}, 3),
        ({"characters": "cnn", "character_filters": [[2, 6]], "character_projection_dim": 4}, 4),
        ({"characters": "bilstm", "character_units": 4}, 8),
        ({"vector_layers": 2, "vector_dim": 4}, 4),
        ({"elmo": True}, 8),
    ],
)
def test_each_part_alone(options, width):
    options = {**options, "max_characters": 10, "elmo": tiny_elmo() if "elmo" in options else None}
    embedder = TokenEmbedder(**options)
    out = embedder(FEATURES)["sequence_output"]
    assert out.shape == (3, 3, width) and embedder.output_dim == width
    np.testing.assert_array_equal(out.numpy()[IDS == 0], 0.0)
    assert np.abs(out.numpy()[IDS > 0]).max(axis=-1).all()


def test_where_the_mask_comes_from():
    words = TokenEmbedder(vocabulary_size=5)
    np.testing.assert_array_equal(words({"token_ids": IDS})["mask"], IDS > 0)
    letters = TokenEmbedder(characters="cnn", max_characters=10)
    np.testing.assert_array_equal(letters({"character_ids": CHARACTERS})["mask"], IDS > 0)
    given = np.array([[True, False, False]] * 3)
    out = words({"token_ids": IDS, "mask": given})
    np.testing.assert_array_equal(out["mask"], given)
    np.testing.assert_array_equal(
        out["sequence_output"][2], 0.0
    )  # padding is still the zero vector


def test_word_vectors_are_set_and_frozen():
    embedder = TokenEmbedder(vocabulary_size=4, embedding_dim=2, trainable_embeddings=False)
    matrix = np.arange(8).reshape(4, 2)
    embedder.set_word_vectors(matrix)
    np.testing.assert_array_equal(embedder({"token_ids": IDS})["sequence_output"][0, 1], matrix[1])
    assert embedder.trainable_weights == []
    embedder.trainable = False
    embedder.trainable = True
    assert embedder.trainable_weights == []
    embedder.set_word_vectors(2 * matrix)
    np.testing.assert_array_equal(embedder.word_embeddings[1:], 2 * matrix)


def test_frozen_words_equal_words_that_do_not_occur():
    """Training gives the same numbers as one table, whose last rows never get a gradient."""
    matrix = np.random.default_rng(1).normal(size=[6, 3]).astype("float32")
    found, head = [], None
    for num_frozen in (0, 3):
        embedder = TokenEmbedder(6, 3, num_frozen_words=num_frozen, name="embedder")
        embedder.set_word_vectors(matrix)
        tagger = Tagger(embedder, ["a", "b"], use_crf=False, dropout=0.0, name="tagger")
        weights = [w for w in tagger.weights if "word_embeddings" not in w.path]
        head = head or [np.array(weight) for weight in weights]
        for weight, value in zip(weights, head, strict=True):
            weight.assign(value)
        tagger.compile(FusedAdam(0.1), run_eagerly=True)
        ids, tags = np.array([[1, 3, 2], [3, 0, 0]]), np.array([[0, 1, 1], [0, 0, 0]])
        tagger.fit({"token_ids": ids}, tags, epochs=3, verbose=0)
        found.append(embedder({"token_ids": np.arange(7)[None]})["sequence_output"][0])
    assert_close(found[1], found[0])
    np.testing.assert_array_equal(found[1][4:], matrix[3:])
    assert np.abs(found[1][1:4] - matrix[:3]).min() > 0.01


@pytest.mark.parametrize("num_frozen", [1, 4])
def test_frozen_words_stay_frozen(num_frozen):
    embedder = TokenEmbedder(4, 2, num_frozen_words=num_frozen)
    embedder.set_word_vectors(np.arange(8).reshape(4, 2))
    out = embedder({"token_ids": np.array([[4, 0, 1, 2, 3]])})["sequence_output"]
    expected = [[6, 7], [0, 0], [0, 1], [2, 3], [4, 5]]
    np.testing.assert_array_equal(out, [expected])
    embedder.trainable = False
    embedder.trainable = True
    assert [w.path.split("/")[-1] for w in embedder.trainable_weights] == ["word_embeddings"]
    with pytest.raises(ValueError, match="`num_frozen_words` must be at most .*, 4; got 5"):
        TokenEmbedder(4, 2, num_frozen_words=5)
    with pytest.raises(ValueError, match="`num_frozen_words` must be at most .*, 0; got 1"):
        TokenEmbedder(characters="cnn", num_frozen_words=1)


def test_word_vectors_of_another_shape():
    embedder = TokenEmbedder(vocabulary_size=4, embedding_dim=2)
    with pytest.raises(ValueError, match=r"shape \(4, 2\) .*; got \(5, 2\)"):
        embedder.set_word_vectors(np.zeros([5, 2]))
    with pytest.raises(ValueError, match="`matrix` must contain only finite numbers; row 3"):
        embedder.set_word_vectors(np.where(np.arange(4)[:, None] < 3, [[1, 2]], np.nan))
    with pytest.raises(ValueError, match="no word vectors"):
        TokenEmbedder(characters="cnn").set_word_vectors(np.zeros([4, 2]))


def test_a_missing_feature_is_named():
    embedder = TokenEmbedder(vocabulary_size=4, characters="cnn", max_characters=10)
    with pytest.raises(ValueError, match="token_ids, character_ids; 'character_ids' is missing"):
        embedder({"token_ids": IDS})
    with pytest.raises(
        ValueError, match="must be a dict with token_ids, character_ids.*; got Eager"
    ):
        embedder(tf.constant(IDS))
    stored = TokenEmbedder(vector_layers=2, vector_dim=4)
    with pytest.raises(ValueError, match="'mask' is missing"):
        stored({"vectors": VECTORS})
    with pytest.raises(ValueError, match=r"shape \[B, 2, T, 4\] .*; got \(3, 1, 3, 4\)"):
        stored({"vectors": VECTORS[:, :1], "mask": IDS > 0})


@pytest.mark.parametrize("wrong", [-1, 5])
def test_ids_out_of_range(wrong):
    with pytest.raises(tf.errors.InvalidArgumentError, match="ids must lie in 0..4"):
        TokenEmbedder(vocabulary_size=4)({"token_ids": np.array([[1, wrong]])})


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "needs at least one of"),
        ({"characters": "rnn"}, "`characters` must be one of .*; got 'rnn'"),
        ({"vector_layers": 2}, "given together; got 2 and 0"),
        ({"vocabulary_size": 9, "dropout": 1.0}, "below 1; got 1.0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        TokenEmbedder(**options)


def test_an_elmo_that_does_not_fit():
    with pytest.raises(ValueError, match=r"must be that of `elmo` \(10\), .*; got 50"):
        TokenEmbedder(characters="cnn", elmo=tiny_elmo())
    with pytest.raises(ValueError, match="keep_sentence_boundaries=False"):
        TokenEmbedder(elmo=tiny_elmo(keep_sentence_boundaries=True))


def tagged_by_neighbor():
    """Returns tokens whose tag is the class of the previous token, so that context is needed."""
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 4, [128, 5])
    words = np.array(["cat", "dog", "a", "the"])
    y = np.pad(ids % 2, [(0, 0), (1, 0)])[:, :-1]
    features = {"character_ids": batch_to_ids(words[ids].tolist(), max_characters=10)}
    return tf.data.Dataset.from_tensors((features, y.astype("int32"))).repeat(30)


@pytest.mark.slow
@pytest.mark.parametrize("fine_tune", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_elmo_inside_fit_frozen_and_fine_tuned(fine_tune, tmp_path):
    elmo = tiny_elmo(fine_tune=fine_tune)
    model = Tagger(TokenEmbedder(elmo=elmo), ["even", "odd"], use_crf=False, dropout=0.0)
    before = [weight.numpy() for weight in elmo.bilm.weights]
    mix_before = elmo.mixes[0].scalar_weights.numpy()
    adam = keras.optimizers.Adam
    optimizer = adam(0.05)
    if fine_tune:
        optimizer = GroupedOptimizer(optimizer, {"token_encoder/|bilstm/": adam(1e-3)})
    model.compile(optimizer)
    history = model.fit(tagged_by_neighbor(), epochs=1, verbose=0).history
    assert np.isfinite(history["loss"][-1])
    steps = [
        np.abs(new.numpy() - old).max() for new, old in zip(elmo.bilm.weights, before, strict=True)
    ]
    assert np.abs(elmo.mixes[0].scalar_weights.numpy() - mix_before).max() > 0.05
    # Each step of Adam is at most about the learning rate: 30 steps of 1e-3, not of 0.05.
    assert (max(steps) == 0.0) != fine_tune and max(steps) < 0.06
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    features = next(iter(tagged_by_neighbor()))[0]
    np.testing.assert_array_equal(loaded(features)["emissions"], model(features)["emissions"])
    assert loaded.encoder.elmo.fine_tune == fine_tune
    assert len(loaded.trainable_weights) == len(model.trainable_weights)


@pytest.mark.parametrize(
    "features, message",
    [
        ({"token_ids": np.ones([4], int)}, r"`token_ids` must be .* got int64 of shape \(4,\)"),
        ({"token_ids": np.ones([2, 4])}, r"`token_ids` must be .* got float64 of shape \(2, 4\)"),
        (
            {"token_ids": np.ones([2, 4], int), "mask": np.ones([2, 3], bool)},
            r"`mask` must have the shape \[B, T\], here \(2, 4\); got shape \(2, 3\)",
        ),
    ],
)
def test_features_of_another_form(features, message):
    with pytest.raises(ValueError, match=message):
        TokenEmbedder(vocabulary_size=9, embedding_dim=4)(features)
