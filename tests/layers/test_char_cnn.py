"""CharCNNEncoder against plain loops over every filter and every position."""

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import elmo
from tests import oracles, oracles_tf
from tests.closeness import assert_close
from tfreps.layers import CharCNNEncoder
from tfreps.models import BiLM
from tfreps.text import batch_to_ids

# Tokens from one byte to more than 48 bytes, boundaries, and tokens truncated inside a character.
TOKENS = ["a", "dog", "naïve", "<S>", "</S>", "é" * 30, "犬" * 17]
TOKENS += ["abcdefghij" * 6, "pqrstuvwxyz" * 6]
TOKENS += [("k" + "lmno" * 15)[:n] for n in range(44, 61)]


def encoder_of(tmp_path, options, weights):
    return BiLM.from_pretrained(*oracles.write_files(tmp_path, options, weights)).token_encoder


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "characters",
    [
        {},
        {"activation": "tanh"},
        {"n_highway": 0, "filters": [[1, 2], [7, 3], [3, 2]]},
        {"n_highway": 1, "filters": [[3, 4]]},  # as many filters as dimensions: no projection
        {"filters": [[50, 4]]},
        {"max_characters_per_token": 12},
    ],
)
def test_equals_the_loops(tmp_path, characters):
    options = oracles.options_with(characters=characters)
    weights = oracles.random_weights(options, scale=0.5)
    length = options["char_cnn"]["max_characters_per_token"]
    encoder = encoder_of(tmp_path, options, weights)
    vectors = encoder(batch_to_ids([TOKENS], max_characters=length))
    expected = [elmo.token_vector(weights, options, token) for token in TOKENS]
    assert len({tuple(v.round(6)) for v in expected}) > 9
    assert_close(vectors[0], expected)


@pytest.mark.slow
def test_a_token_is_the_same_alone_and_among_others(tmp_path):
    options = oracles.options_with()
    encoder = encoder_of(tmp_path, options, oracles.random_weights(options, scale=0.5))
    together = encoder(batch_to_ids([TOKENS]))[0]
    for number, token in enumerate(TOKENS):
        alone = encoder(batch_to_ids([[token]]))[0, 0]
        assert_close(alone, together[number])


def test_no_token_is_zero_and_leading_dimensions_are_free(tmp_path):
    options = oracles.options_with()
    encoder = encoder_of(tmp_path, options, oracles.random_weights(options, scale=0.5))
    ids = batch_to_ids([["a", "dog"], ["a"], []])
    vectors = encoder(ids)
    assert (vectors.numpy()[[1, 2, 2], [1, 0, 1]] == 0.0).all()
    assert (vectors.numpy()[[0, 0, 1], [0, 1, 0]] != 0.0).any(axis=-1).all()
    assert_close(encoder(ids[0]), vectors[0])
    assert_close(encoder(ids[0, 0]), vectors[0, 0])
    np.testing.assert_array_equal(encoder(ids[None]), vectors[None])
    assert encoder(ids[:0]).shape == (0, 2, 4)


def tie_tokens():
    """Returns tokens with maxima in windows of padding, and one with a repeated character."""
    return ["a", "dog", "犬", "z" * 48, "y" * 60, "qwertyuiop" * 5, "ab", "<S>", "b" * 46]


@pytest.mark.few(1)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_gradient_is_that_of_the_naive_network(tmp_path, activation):
    options = oracles.options_with(characters={"activation": activation, "n_highway": 1})
    weights = oracles.random_weights(options, scale=0.3)
    # Large weights of the padding character, so that some filters have their maximum on padding.
    weights["char_embed"][260] = [2.0, -2.0, 1.5]
    encoder, tokens = encoder_of(tmp_path, options, weights), tie_tokens()
    direction = np.random.default_rng(3).normal(size=(len(tokens), 4))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(batch_to_ids([tokens]))[0] * direction.astype("float32"))
    ours = tape.gradient(loss, encoder.trainable_weights)
    ours = {
        w.path.split("token_encoder/")[-1]: g
        for w, g in zip(encoder.trainable_weights, ours, strict=True)
    }

    naive = oracles_tf.as_tensors(weights)
    rows = tf.constant([elmo.character_ids(token) for token in tokens])
    with tf.GradientTape() as tape:
        tape.watch(naive)
        loss = tf.reduce_sum(oracles_tf.token_vectors(naive, options, rows) * direction)
    theirs = tape.gradient(loss, naive)
    assert padding_wins(weights, options) > 0

    def close(name, foreign):  # float32 against float64, sums of several hundred terms
        expected = tf.convert_to_tensor(theirs[foreign]).numpy()
        got = tf.convert_to_tensor(ours[name]).numpy().reshape(expected.shape)
        assert_close(got, expected, name=foreign, terms=256)

    for i in range(3):
        close(f"convolution_{i}_kernel", f"CNN/W_cnn_{i}")
        close(f"convolution_{i}_bias", f"CNN/b_cnn_{i}")
    close("projection_kernel", "CNN_proj/W_proj")
    close("highway_0/gate_kernel", "CNN_high_0/W_carry")
    close("highway_0/transform_bias", "CNN_high_0/b_transform")
    characters = tf.convert_to_tensor(ours["characters"]).numpy()
    np.testing.assert_array_equal(characters[0], 0.0)
    expected = tf.convert_to_tensor(theirs["char_embed"]).numpy()
    assert_close(characters[1:], expected, terms=256)


def padding_wins(weights, options):
    """Counts the filters whose maximum over the token "a" is in a window of padding only."""
    vectors, wins = weights["char_embed"][elmo.character_ids("a")], 0
    for i, (width, _) in enumerate(options["char_cnn"]["filters"]):
        kernel = weights[f"CNN/W_cnn_{i}"][0]
        z = np.array([np.einsum("kc,kcn->n", vectors[s : s + width], kernel) for s in range(40)])
        wins += (z.argmax(axis=0) >= 3).sum()
    return wins


def test_starts_as_bilm_tf_does():
    encoder = CharCNNEncoder([[2, 400], [3, 500]], projection_dim=300, activation="relu")
    encoder.build((None, None, 50))
    values = {w.path.split("/", 1)[-1]: np.asarray(w) for w in encoder.weights}
    characters = values["characters"]
    assert (characters[0] == 0.0).all() and 0.95 < np.abs(characters[1:]).max() <= 1.0
    assert 0.049 < np.abs(values["convolution_1_kernel"]).max() <= 0.05
    assert values["projection_kernel"].std() == pytest.approx(900**-0.5, rel=0.02)
    tanh = CharCNNEncoder([[2, 400], [3, 500]], projection_dim=300, activation="tanh")
    tanh.build((None, None, 50))
    assert np.asarray(tanh.kernels[1]).std() == pytest.approx((3 * 16) ** -0.5, rel=0.02)


@pytest.mark.parametrize("wrong", [262, 300, -1])
def test_ids_out_of_range(wrong):
    encoder = CharCNNEncoder([[1, 4]], projection_dim=4)
    ids = batch_to_ids([["a"]])
    ids[0, 0, 5] = wrong
    with pytest.raises(tf.errors.InvalidArgumentError, match="character ids must"):
        encoder(ids)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"filters": []}, "list of \\(width, count\\) pairs of positive"),
        ({"filters": [[0, 3]]}, "pairs of positive numbers"),
        ({"filters": [[51, 3]]}, "no width above `max_characters` \\(50\\)"),
        ({"activation": "swoosh"}, "swoosh"),
        ({"projection_dim": 5}, "at most the number of filters, 4; got 5"),
        ({"num_character_ids": 1}, "`num_character_ids` must be at least 2"),
    ],
)
def test_sizes_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        CharCNNEncoder(**{"filters": [[1, 4]], "projection_dim": 4, **options})
