"""Tests BiLM against plain loops: kinds of networks, initial states, ragged batches."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import elmo
from tests import oracles
from tests.closeness import BFLOAT16, assert_close
from tests.oracles import SENTENCES
from tfreps._src.layers import elmo_bilstm
from tfreps._src.layers.ops.projected_lstm import projected_lstm
from tfreps._src.models.bilm import WARM_UP
from tfreps.inference import SentenceEncoder
from tfreps.models import BiLM
from tfreps.text import batch_to_ids

CASES = {
    "1 layer": ({"n_layers": 1}, {}),
    "2 layers": ({}, {}),
    "3 layers": ({"n_layers": 3}, {"n_highway": 1}),
    "no skip connections": ({"use_skip_connections": False}, {}),
    "no LSTM projection": ({"dim": 4}, {}),
    "no token projection": ({"projection_dim": 5}, {"filters": [[1, 2], [3, 3]]}),
    "no highways, tanh": ({}, {"n_highway": 0, "activation": "tanh"}),
    "no clips": ({"cell_clip": None, "proj_clip": None}, {}),
    "token ids": ({}, None),
    "token ids, no projection, 3 layers": ({"dim": 4, "n_layers": 3}, None),
}
# Quick tests of `ElmoBiLSTM` have these variants.
OF_THE_LSTM = "1 layer", "no skip connections", "no LSTM projection", "no clips"
# Sentences of a token model with 20 vocabulary ids, counted from 0.
TOKEN_SENTENCES = [[5, 3, 19, 7, 2], [4, 4], [], [11, 2, 6]]


def make(tmp_path, lstm=(), characters=(), scale=0.5, **kwargs):
    options = oracles.options_with(lstm=lstm, characters=characters)
    weights = oracles.random_weights(options, scale=scale, seed=2)
    files = oracles.write_files(tmp_path, options, weights)
    return options, weights, BiLM.from_pretrained(*files, **kwargs)


def as_ids(sentences):
    """Returns the model's inputs: character ids of strings, or token ids plus 1."""
    if any(isinstance(token, str) for sentence in sentences for token in sentence):
        return batch_to_ids(sentences)
    ids = np.zeros([len(sentences), max(map(len, sentences))], "int32")
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = np.array(sentence, int) + 1
    return ids


def oracle(weights, options, sentence, state=None):
    boundaries = ("<S>", "</S>") if "char_cnn" in options else (0, 1)
    return elmo.bilm(weights, options, sentence, state, boundaries)


def assert_output_is(out, row, expected, state):
    """Checks one sentence of a batch, its padding and its state against the oracle."""
    n = expected.shape[1] - 2
    layers = out["layer_outputs"][row].numpy()
    # Sums over characters, filters and gates, in up to three layers.
    assert_close(layers[:, :n], expected[:, 1:-1], terms=256)
    np.testing.assert_array_equal(layers[:, n:], 0.0)
    np.testing.assert_array_equal(out["sequence_output"][row], layers[-1])
    assert out["mask"][row].numpy().tolist() == [t < n for t in range(layers.shape[1])]
    around = out["layer_outputs_with_boundaries"][row].numpy()
    assert_close(around[:, : n + 2], expected, terms=256)
    np.testing.assert_array_equal(around[:, n + 2 :], 0.0)
    real = [t < n + 2 for t in range(around.shape[1])]
    assert out["mask_with_boundaries"][row].numpy().tolist() == real
    for number, direction in enumerate(("forward", "backward")):
        hidden, cell = zip(*state[number], strict=True)
        assert_close(out[f"{direction}_hidden"][row], hidden, terms=256)
        assert_close(out[f"{direction}_cell"][row], cell, terms=256)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=pytest.mark.slow if c in OF_THE_LSTM else ()) for c in CASES]
)
def test_equals_the_loops(tmp_path, monkeypatch, case):
    lstm, characters = CASES[case]
    options, weights, bilm = make(tmp_path, lstm, characters)
    sentences = TOKEN_SENTENCES if characters is None else SENTENCES
    out, clipped = bilm(as_ids(sentences)), oracles.count_clips(monkeypatch)
    for row, sentence in enumerate(sentences):
        expected, state = oracle(weights, options, sentence)
        assert_output_is(out, row, expected, state)
    clips = options["lstm"]["cell_clip"] is not None
    projects = options["lstm"]["projection_dim"] < options["lstm"]["dim"]
    assert (clipped[0.4] > 20) == clips and (clipped[0.3] > 20) == (clips and projects)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        "2 layers",
        *(pytest.param(c, marks=pytest.mark.slow) for c in ("no LSTM projection", "token ids")),
    ],
)
def test_carry_goes_on_row_by_row(tmp_path, case):
    """In batches of 4, 2, 3 and 4 rows, each row continues from its own last state."""
    lstm, characters = CASES[case]
    options, weights, bilm = make(
        tmp_path, lstm, characters, initial_state="carry", max_batch_size=5
    )
    sentences = TOKEN_SENTENCES if characters is None else SENTENCES
    states = [None] * 5
    a, b, c, d = sentences
    for batch in ([a, b, c, d], [d, b], [c, c, a], [b, a, d, b]):
        before = [np.asarray(state) for state in bilm.kept_states]
        out = bilm(as_ids(batch))
        for row, sentence in enumerate(batch):
            expected, states[row] = oracle(weights, options, sentence, states[row])
            assert_output_is(out, row, expected, states[row])
        for old, kept in zip(before, bilm.kept_states, strict=True):
            np.testing.assert_array_equal(np.asarray(kept)[len(batch) :], old[len(batch) :])
    assert all((np.asarray(state)[4] == 0.0).all() for state in bilm.kept_states)
    assert all((np.asarray(state)[:4] != 0.0).any() for state in bilm.kept_states)
    bilm.reset_states()
    assert all((np.asarray(state) == 0.0).all() for state in bilm.kept_states)
    expected, state = oracle(weights, options, a)
    assert_output_is(bilm(as_ids([a])), 0, expected, state)


@pytest.mark.slow
def test_warm_starts_every_sentence_from_the_state_after_a_fixed_one(tmp_path):
    options, weights, bilm = make(tmp_path, initial_state="warm")
    _, warm = oracle(weights, options, WARM_UP)
    for _ in range(2):
        out = bilm(as_ids(SENTENCES))
        for row, sentence in enumerate(SENTENCES):
            expected, state = oracle(weights, options, sentence, warm)
            assert_output_is(out, row, expected, state)
    bilm.warm_up(batch_to_ids([SENTENCES[0]]))
    _, warm = oracle(weights, options, SENTENCES[0])
    expected, state = oracle(weights, options, SENTENCES[1], warm)
    assert_output_is(bilm(as_ids([SENTENCES[1]])), 0, expected, state)


def test_a_warm_token_model_is_warmed_with_the_boundaries_alone(tmp_path):
    options, weights, bilm = make(tmp_path, characters=None, initial_state="warm")
    _, warm = oracle(weights, options, [])
    expected, state = oracle(weights, options, TOKEN_SENTENCES[0], warm)
    assert_output_is(bilm(as_ids(TOKEN_SENTENCES)), 0, expected, state)


@pytest.mark.few(1)
@pytest.mark.parametrize("initial_state", ["zero", "warm", "carry"])
def test_a_given_state_goes_before_the_models_own_and_is_not_kept(tmp_path, initial_state):
    options, weights, bilm = make(tmp_path, initial_state=initial_state)
    before = [np.asarray(state) for state in bilm.kept_states]
    rng = np.random.default_rng(0)
    shapes = {"hidden": (1, 2, 4), "cell": (1, 2, 6)}
    given = {
        name: 0.3 * rng.normal(size=shapes[name.split("_")[1]]).astype("float32")
        for name in bilm._state_names
    }
    start = [
        list(zip(given[f"{d}_hidden"][0], given[f"{d}_cell"][0], strict=True))
        for d in ("forward", "backward")
    ]
    expected, state = oracle(weights, options, SENTENCES[0], start)
    out = bilm(as_ids(SENTENCES[:1]), initial_state=given)
    assert_output_is(out, 0, expected, state)
    for old, kept in zip(before, bilm.kept_states, strict=True):
        np.testing.assert_array_equal(kept, old)


def test_token_vectors_of_a_known_an_unknown_and_a_60_byte_word(tmp_path):
    """All three are read as bytes; the last is truncated to 48."""
    options, weights, bilm = make(tmp_path)
    long = "é" * 30
    words = ["dog", "dogfish", long, long[:24], long[:23]]
    layers = bilm(batch_to_ids([words]))["layer_outputs"][0, 0]  # [T, 2P]
    for vector, word in zip(layers, words, strict=True):
        expected = elmo.token_vector(weights, options, word)
        assert_close(vector, [*expected, *expected])
    assert_close(layers[2], layers[3])
    assert np.abs(layers[3] - layers[4]).max() > 1e-3


def test_strings_and_sentences_are_read_as_their_character_ids(tmp_path):
    _, _, bilm = make(tmp_path)
    tokens = [["The", "dog", "犬"], ["naïve", "", ""], ["", "", ""]]
    by_ids = bilm(batch_to_ids([["The", "dog", "犬"], ["naïve"], []]))
    sentences = tf.constant(["The dog  犬", " naïve\n", ""])
    for given in (tf.constant(tokens), sentences):
        out = bilm(given)
        for a, b in zip(tf.nest.flatten(out), tf.nest.flatten(by_ids), strict=True):
            np.testing.assert_array_equal(a, b)


def test_one_direction_is_the_forward_half(tmp_path):
    _, _, both = make(tmp_path)
    single = BiLM.from_config({**both.get_config(), "bidirectional": False})
    single.token_encoder.set_weights(both.token_encoder.get_weights())
    single.bilstm.set_weights(both.bilstm.directions[0].get_weights())
    ids = as_ids(SENTENCES)
    out, expected = single(ids), both(ids)
    np.testing.assert_array_equal(out["layer_outputs"], expected["layer_outputs"][..., :4])
    assert single._state_names == ["forward_hidden", "forward_cell"]
    np.testing.assert_array_equal(out["forward_cell"], expected["forward_cell"])
    assert "backward_cell" not in out


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_no_sentences_and_no_tokens(tmp_path, shape):
    for characters, ids in (((), np.zeros([*shape, 50])), (None, np.zeros(shape))):
        _, _, bilm = make(tmp_path, characters=characters)
        out = bilm(ids.astype("int32"))
        assert out["layer_outputs"].shape == (shape[0], 3, shape[1], 8)
        assert out["mask"].shape == shape


@pytest.mark.slow
def test_another_initial_state_by_copy(tmp_path):
    _, _, bilm = make(tmp_path)
    ids = as_ids(SENTENCES)
    zero = bilm(ids)["layer_outputs"]
    carry = bilm.with_initial_state("carry")
    np.testing.assert_array_equal(carry(ids)["layer_outputs"], zero)
    assert np.abs(carry(ids)["layer_outputs"] - zero).max() > 0.01
    warm = bilm.with_initial_state("warm")(ids)["layer_outputs"]
    (tmp_path / "warm").mkdir()
    _, _, direct = make(tmp_path / "warm", initial_state="warm")
    np.testing.assert_array_equal(warm, direct(ids)["layer_outputs"])
    np.testing.assert_array_equal(bilm(ids)["layer_outputs"], zero)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("characters", [(), None])
def test_a_global_policy_lowers_multiplications_alone(tmp_path, policy, characters):
    sentences = SENTENCES if characters is not None else TOKEN_SENTENCES
    _, _, exact = make(tmp_path, characters=characters, scale=0.3)
    try:
        keras.config.set_dtype_policy(policy)
        _, _, rough = make(tmp_path, characters=characters, scale=0.3, initial_state="carry")
    finally:
        keras.config.set_dtype_policy("float32")
    assert rough.bilstm.directions[0].compute_dtype == policy.removeprefix("mixed_")
    ids = as_ids(sentences)
    expected, out = exact(ids), rough(ids)
    for a, b in zip(tf.nest.flatten(expected), tf.nest.flatten(out), strict=True):
        assert a.dtype == b.dtype
        assert_close(b, a, unit=BFLOAT16, terms=4)
    state = {name: out[name] for name in rough._state_names}  # inputs are not rounded
    again = rough(np.zeros_like(ids)[:, :0], initial_state=state)
    carried = rough(np.zeros_like(ids)[:, :0])
    np.testing.assert_array_equal(again["forward_cell"], carried["forward_cell"])


@pytest.mark.parametrize(
    "ids, message",
    [
        (np.zeros([2, 3], "int32"), r"shape \[B, T, C\] \(character ids\); got \(2, 3\)"),
        (np.zeros([2, 3, 40], "int32"), "must have 50 character ids per token; got 40"),
    ],
)
def test_wrong_shapes(tmp_path, ids, message):
    _, _, bilm = make(tmp_path)
    with pytest.raises(ValueError, match=message):
        bilm(ids)


def test_wrong_ids(tmp_path):
    _, _, characters = make(tmp_path)
    ids = batch_to_ids([["a", "dog"]])
    ids[0, 1, 3] = 262
    with pytest.raises(tf.errors.InvalidArgumentError, match="must lie in 0..261"):
        characters(ids)
    _, _, tokens = make(tmp_path, characters=None)
    with pytest.raises(ValueError, match=r"shape \[B, T\] \(token ids\); got \(1, 2, 50\)"):
        tokens(ids)
    with pytest.raises(ValueError, match=r"does not accept strings; .* shape \(1, 2\)"):
        tokens(tf.constant([["a", "dog"]]))
    for wrong in (21, -1):
        with pytest.raises(tf.errors.InvalidArgumentError, match="must lie in 0..20"):
            tokens(np.array([[3, wrong]]))


def test_wrong_uses_of_states(tmp_path):
    _, _, bilm = make(tmp_path, initial_state="carry", max_batch_size=3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="increase `max_batch_size`"):
        bilm(as_ids(SENTENCES))
    with pytest.raises(ValueError, match="needs a model with .*warm\"`; this model has 'carry'"):
        bilm.warm_up()
    with pytest.raises(ValueError, match="needs a model with .*carry\"`; this model has 'zero'"):
        bilm.with_initial_state("zero").reset_states()
    with pytest.raises(ValueError, match="`initial_state` must be one of .* got 'cold'"):
        bilm.with_initial_state("cold")


@pytest.mark.few(1)
@pytest.mark.parametrize("caller", ["call", "sentence encoder"])
def test_the_first_layer_multiplies_each_distinct_token_once(tmp_path, monkeypatch, caller):
    _, _, bilm = make(tmp_path, {"n_layers": 2})
    given, sentence = [], ["a", "b", "a"]

    def record(*arguments):
        given.append(arguments[-1])
        return projected_lstm(*arguments)

    monkeypatch.setattr(elmo_bilstm, "projected_lstm", record)
    if caller == "call":
        bilm(batch_to_ids([sentence]))
    else:
        list(SentenceEncoder(bilm).encode([sentence]))
    assert [distinct is not None for distinct in given] == [True, False] * 2  # directions
    if caller == "call":
        vectors, which = given[0]
        start, a, b, again, end = which[:, 0].numpy()
        assert a == again and {start, a, b, end} == set(range(len(vectors)))
