"""Tests BiLMPretrainer: steps against TF 1's formulas, perplexities against plain loops."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import elmo
from docs.by_hand.language_model import full_softmax_loss, perplexity
from tests import oracles, oracles_tf
from tests.closeness import assert_close
from tfreps._src.convert import bilm_tf
from tfreps._src.convert.table import written_rows
from tfreps._src.layers import elmo_bilstm
from tfreps._src.layers.ops.projected_lstm import projected_lstm
from tfreps._src.text.char_ids import token_rows
from tfreps.layers import LSTMState
from tfreps.models import BiLM, BiLMPretrainer
from tfreps.optimizers import TF1Adagrad

ROWS, STEPS, SIZE = 3, 5, 20
TERMS = 4096  # three steps, each with sums over 15 tokens, 20 ids and the gates of two layers
WORDS = ["<S>", "</S>", "<UNK>"] + "the of and to in river bank dog boats fire".split()
WORDS += ["naïve", "storm", "é" * 30, "letter", "sister", "犬", "left"]
CHARACTERS = token_rows(WORDS)  # [V, C]


def make(tmp_path, characters=(), num_sampled=None, softmax_scale=1.0, dtype=None, **kwargs):
    """Returns a pretrainer with random weights, and the options and arrays it was made from."""
    options = oracles.options_with(characters=characters)
    weights = oracles.random_weights(options, vocabulary_size=SIZE, scale=0.5, seed=8)
    files = oracles.write_files(tmp_path, options, weights)
    bilm = BiLM.from_pretrained(*files, dtype=dtype)
    model = BiLMPretrainer(
        bilm, SIZE, num_sampled, **{"batch_size": ROWS, "seed": 5, "dtype": dtype, **kwargs}
    )
    if not model.tie_embeddings:
        kernel = np.random.default_rng(1).normal(size=(SIZE, 4)) * softmax_scale
        model.softmax.kernel.assign(kernel)
    model.softmax.bias.assign(np.random.default_rng(2).normal(size=SIZE))
    model.compile(optimizer=TF1Adagrad())
    return options, model


def batches(number, characters=True, masked=False, rows=ROWS):
    rng = np.random.default_rng(3)
    for _ in range(number):
        batch = {}
        for suffix in ("", "_reverse"):
            # Frequent words occur more often, so that some are drawn as negatives and some repeat.
            ids = (SIZE * rng.random([rows, STEPS]) ** 2).astype("int32")
            lengths = rng.integers(0, STEPS + 1, [rows, 1]) if masked else STEPS
            batch["token_ids" + suffix] = ids
            batch["next_token_id" + suffix] = np.roll(ids, -1, axis=1)
            batch["mask" + suffix] = np.broadcast_to(np.arange(STEPS) < lengths, ids.shape)
            if characters:
                batch["tokens_characters" + suffix] = CHARACTERS[ids]
        yield {name: tf.constant(value) for name, value in batch.items()}


def foreign_weights(model):
    """Returns all trainable weights by name: those of bilm-tf, and `softmax/...`."""
    rows = bilm_tf.table(model.bilm.get_config())
    arrays = written_rows(rows, bilm_tf.weights_of(model.bilm))
    result = {name: make_array().astype(float) for name, make_array in arrays.items()}
    softmax = {f"softmax/{w.name}": np.asarray(w, float) for w in model.softmax.trainable_weights}
    return {**result, **softmax}


def oracle_nll(w, options, batch, states, negatives):
    """Returns the NLL `[G, B*T]` and the final states, computed in plain TensorFlow in float64."""
    nlls, new_states = [], []
    for direction, suffix in enumerate(("", "_reverse")):
        rows = batch["token_ids" + suffix].numpy()
        if "char_cnn" in options:
            rows = np.array([elmo.character_ids(word) for word in WORDS])[rows]
        top, state = oracles_tf.language_model(w, options, rows, direction, states[direction])
        flat = tf.reshape(top, [ROWS * STEPS, -1])
        kernel = w.get("softmax/kernel", w.get("embedding"))  # tied embeddings
        parts = flat, kernel, w["softmax/bias"]
        targets = tf.reshape(batch["next_token_id" + suffix], [-1])
        if negatives is None:
            nlls.append(oracles_tf.full_softmax_nll(*parts, targets))
        else:
            nlls.append(oracles_tf.sampled_softmax_nll(*parts, targets, *negatives[direction]))
        new_states.append(state)
    return tf.stack(nlls), new_states


def oracle_step(weights, options, batch, states, negatives):
    """Returns the gradients of (loss times unroll steps) by name, NLL, mask and new states."""
    w = oracles_tf.as_tensors(weights)
    masks = [batch["mask" + suffix].numpy().reshape(-1) for suffix in ("", "_reverse")]
    with tf.GradientTape() as tape:
        tape.watch(w)
        nll, states = oracle_nll(w, options, batch, states, negatives)
        # 0.5 * (mean forward + mean backward) * unroll steps, if all positions count.
        loss = tf.reduce_sum(tf.where(np.stack(masks), nll, 0.0)) / (2 * ROWS)
    gradients = {
        name: np.zeros_like(weights[name]) if g is None else tf.convert_to_tensor(g).numpy()
        for name, g in tape.gradient(loss, w).items()
    }
    return gradients, nll.numpy()[np.stack(masks)], states


def negatives_at(model, step):
    if not model.num_sampled:
        return None
    drawn = [model.softmax.sampler.draw([model.seed, 2 * step + group]) for group in range(2)]
    return [(ids.numpy(), int(tries)) for ids, tries in drawn]


CASES = {
    "characters, sampled softmax": ({"num_sampled": 8}, False),
    "characters, full softmax": ({}, False),
    "clip active": ({"softmax_scale": 30.0}, True),
    "clip active, sampled": ({"softmax_scale": 30.0, "num_sampled": 8}, True),
    "token ids": ({"characters": None}, False),
    "token ids, sampled, clip active": (
        {"characters": None, "num_sampled": 8, "softmax_scale": 30.0},
        True,
    ),
    "tied": ({"characters": None, "tie_embeddings": True}, False),
    "tied, sampled": ({"characters": None, "tie_embeddings": True, "num_sampled": 8}, False),
    "padding": ({}, False),
}


COMPILED = "clip active, sampled", "token ids, sampled, clip active"  # the others run eagerly


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.slow if c == COMPILED[0] else ()) for c in CASES],
)
def test_three_steps_are_those_of_tf1(tmp_path, case):
    kwargs, clip_active = CASES[case]
    options, model = make(tmp_path, **kwargs)
    weights, states = foreign_weights(model), [None, None]
    accumulators = {name: np.ones_like(array) for name, array in weights.items()}
    train_step, nlls, norms = model.train_step, [], []
    if case in COMPILED:
        train_step = tf.function(train_step)
    characters = kwargs.get("characters", ()) is not None
    for number, batch in enumerate(batches(3, characters, masked=case == "padding")):
        logs = train_step(batch)
        negatives = negatives_at(model, number)
        gradients, nll, states = oracle_step(weights, options, batch, states, negatives)
        gradients, norm = oracles.clip_by_global_norm(gradients, 10.0)
        weights = oracles.adagrad(weights, accumulators, gradients)
        nlls.extend(nll)
        norms.append(norm)
        for name, got in foreign_weights(model).items():
            assert_close(got, weights[name], terms=TERMS, name=name)
        for direction, state in enumerate(model._carried_state()):
            for layer, (hidden, cell) in enumerate(states[direction]):
                assert_close(state.hidden[:, layer], hidden, terms=TERMS)
                assert_close(state.cell[:, layer], cell, terms=TERMS)
        name = "sampled_perplexity" if model.num_sampled else "training_perplexity"
        assert set(logs) == {name, "gradient_norm"}
        assert_close(logs[name], perplexity(nlls), terms=TERMS)
        assert_close(logs["gradient_norm"], np.mean(norms), terms=TERMS)
    assert (min(norms) > 10.0) if clip_active else (max(norms) < 10.0)
    assert int(model.softmax.draws) == (3 if model.num_sampled else 0)
    np.testing.assert_array_equal(np.asarray(model.bilm.token_encoder.weights[0])[0], 0.0)


def test_without_a_clip(tmp_path):
    options, model = make(tmp_path, softmax_scale=30.0, clip_norm=None)
    weights, (batch,) = foreign_weights(model), batches(1)
    accumulators = {name: np.ones_like(array) for name, array in weights.items()}
    model.train_step(batch)
    gradients, _, _ = oracle_step(weights, options, batch, [None, None], None)
    weights = oracles.adagrad(weights, accumulators, gradients)
    for name, got in foreign_weights(model).items():
        assert_close(got, weights[name], terms=TERMS, name=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype, cosine, deviation", [("mixed_bfloat16", 0.9, 0.1), ("mixed_float16", 0.999, 0.01)]
)
@pytest.mark.parametrize("softmax_scale, num_sampled", [(1.0, None), (30.0, 8)])
def test_low_precision_trains_as_float32_does(
    tmp_path, dtype, cosine, deviation, softmax_scale, num_sampled
):
    """The gradient is clipped at the same norm; bfloat16 moves some values across an LSTM clip."""
    results = []
    for policy in (None, dtype):
        _, model = make(
            tmp_path, num_sampled=num_sampled, softmax_scale=softmax_scale, dtype=policy
        )
        if policy == "mixed_float16":
            assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
            scaled = keras.optimizers.LossScaleOptimizer(TF1Adagrad(), initial_scale=64.0)
            model.compile(optimizer=scaled)
        before, (batch,) = foreign_weights(model), batches(1)
        logs = model.train_step(batch)
        after = foreign_weights(model)
        steps = np.concatenate([(after[name] - before[name]).ravel() for name in sorted(after)])
        results.append((steps, float(logs["gradient_norm"])))
    (exact, norm), (rough, rough_norm) = results
    assert rough_norm == pytest.approx(norm, rel=deviation)
    assert (norm > 10.0) == (softmax_scale == 30.0)
    assert np.isfinite(rough).all() and np.linalg.norm(rough) > 0.1
    assert np.dot(exact, rough) > cosine * np.linalg.norm(exact) * np.linalg.norm(rough)
    assert np.linalg.norm(rough) == pytest.approx(np.linalg.norm(exact), rel=deviation)


@pytest.mark.slow
def test_a_step_that_float16_cannot_hold_is_skipped_and_does_not_spoil_the_figures(tmp_path):
    _, model = make(tmp_path, softmax_scale=100.0, dtype="mixed_float16")
    before, (batch,) = foreign_weights(model), batches(1)
    logs = model.train_step(batch)  # the first loss scale, 2 ** 15, is too large
    for name, after in foreign_weights(model).items():
        np.testing.assert_array_equal(after, before[name])
    assert float(logs["gradient_norm"]) == 0.0 and np.isfinite(logs["training_perplexity"])
    for _ in range(12):
        logs = model.train_step(batch)
    assert 10.0 < float(logs["gradient_norm"]) < 1e4
    assert any((after != before[name]).any() for name, after in foreign_weights(model).items())


def signature():
    (batch,) = batches(1)
    return {
        name: tf.TensorSpec([None, *value.shape[1:]], value.dtype) for name, value in batch.items()
    }


def test_the_test_perplexities_equal_the_loops(tmp_path):
    """Each row starts from zeros, with the full softmax; padding does not count."""
    options, model = make(tmp_path, num_sampled=8)
    weights = {name: value.astype("float32") for name, value in foreign_weights(model).items()}
    nlls, data = [[], []], list(batches(2, masked=True))
    for batch in data:
        for direction, suffix in enumerate(("", "_reverse")):
            ids, targets, mask = (
                batch[key + suffix].numpy() for key in ("token_ids", "next_token_id", "mask")
            )
            for row in range(ROWS):
                nlls[direction] += row_nll(weights, options, direction, ids[row], targets[row])[
                    : mask[row].sum()
                ]
    model.reset_metrics()
    for batch in data:
        logs = {name: float(value) for name, value in model.test_step(batch).items()}
    assert_close(logs.pop("forward_perplexity"), perplexity(nlls[0]))
    assert_close(logs.pop("backward_perplexity"), perplexity(nlls[1]))
    assert_close(logs, {"perplexity": perplexity(nlls[0] + nlls[1])})
    assert int(model.softmax.draws) == 0


def row_nll(weights, options, direction, ids, targets):
    vectors = [elmo.token_vector(weights, options, WORDS[i]) for i in ids]
    layers, _ = elmo.read_direction(weights, options, direction, vectors)
    parts = weights["softmax/kernel"].astype(float), weights["softmax/bias"].astype(float)
    return [
        full_softmax_loss(x, *parts, target) for x, target in zip(layers[-1], targets, strict=True)
    ]


@pytest.mark.slow
def test_the_perplexity_does_not_depend_on_the_batch_size(tmp_path):
    _, model = make(tmp_path)
    (batch,) = batches(1, masked=True, rows=8)
    results = []
    for size in (1, 3, 8):
        model.reset_metrics()
        for start in range(0, 8, size):
            logs = model.test_step({k: v[start : start + size] for k, v in batch.items()})
        results.append([float(value) for value in logs.values()])
    assert_close(results, [results[0]] * 3)


def test_characters_by_table_are_characters_in_place(tmp_path):
    """Rows below V are in the vocabulary, the others are unknown words of the batch."""
    _, model = make(tmp_path)
    own = token_rows(["unheard", "of"])
    (batch,) = batches(1)
    by_table = {k: v for k, v in batch.items() if not k.startswith("tokens_characters")}
    for suffix in ("", "_reverse"):
        rows = batch["token_ids" + suffix].numpy().copy()
        rows[0, 1], rows[2, 3] = SIZE, SIZE + 1
        batch["tokens_characters" + suffix] = np.concatenate([CHARACTERS, own])[rows]
        by_table["character_rows" + suffix] = rows
    by_table["unknown_characters"] = own
    with pytest.raises(tf.errors.InvalidArgumentError, match="Call `set_character_table` first"):
        model(by_table)
    model.set_character_table(CHARACTERS)
    assert_close(model(by_table)[0], model(batch)[0])
    for suffix in ("", "_reverse"):
        rows = by_table["character_rows" + suffix]
        by_table["character_rows" + suffix] = np.minimum(rows, SIZE - 1)
    by_table["unknown_characters"] = own[:0]
    assert np.isfinite(model(by_table)[0]).all()


def test_the_first_layer_multiplies_each_distinct_token_once(tmp_path, monkeypatch):
    options, model = make(tmp_path)
    given = []

    def record(*arguments):
        given.append(arguments[-1])
        return projected_lstm(*arguments)

    monkeypatch.setattr(elmo_bilstm, "projected_lstm", record)
    batch = next(batches(1))
    model(batch)
    layers = options["lstm"]["n_layers"]
    assert len(given) == 2 * layers  # directions
    ids = [batch["token_ids"], batch["token_ids_reverse"]]
    for number, distinct in enumerate(given):
        assert (distinct is not None) == (number % layers == 0)
        if distinct is not None:
            vectors, which = distinct
            assert len(vectors) == len(np.unique(ids)) < 2 * ROWS * STEPS
            for ours, theirs in zip(which.numpy().T, ids[number // layers].numpy(), strict=True):
                assert (ours[:, None] == ours).tolist() == (theirs[:, None] == theirs).tolist()


def test_one_direction():
    bilm = BiLM(units=6, projection_dim=4, vocabulary_size=SIZE, bidirectional=False)
    model = BiLMPretrainer(bilm, SIZE, batch_size=ROWS)
    model.compile(optimizer=TF1Adagrad())
    (batch,) = batches(1, characters=False)
    batch = {name: value for name, value in batch.items() if "reverse" not in name}
    logs = model.train_step(batch)
    assert float(logs["training_perplexity"]) == pytest.approx(SIZE, rel=0.2)
    logs = model.test_step(batch)
    assert set(logs) == {"forward_perplexity", "perplexity"}
    assert float(logs["perplexity"]) == float(logs["forward_perplexity"])
    assert len(model.carried) == 2


@pytest.mark.slow
def test_a_warm_bilm_is_evaluated_from_its_warm_state(tmp_path):
    _, model = make(tmp_path)
    warm = BiLMPretrainer(model.bilm.with_initial_state("warm"), SIZE, batch_size=ROWS)
    warm.softmax.set_weights(model.softmax.get_weights())
    (batch,) = batches(1)
    states = [tf.repeat(state, ROWS, axis=0) for state in warm.bilm.kept_states]
    pairs = tuple(LSTMState(*states[i : i + 2]) for i in (0, 2))
    np.testing.assert_array_equal(warm(batch)[0], model(batch, initial_state=pairs)[0])
    assert np.abs(warm(batch)[0] - model(batch)[0]).max() > 1e-3


def test_a_batch_of_padding_changes_nothing(tmp_path):
    _, model = make(tmp_path)
    before = model.bilm.get_weights()
    (batch,) = batches(1)
    for suffix in ("", "_reverse"):
        batch["mask" + suffix] = tf.zeros_like(batch["mask" + suffix])
    logs = model.train_step(batch)
    for old, new in zip(before, model.bilm.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    assert float(logs["gradient_norm"]) == 0.0 and math.isnan(logs["training_perplexity"])


@pytest.mark.slow
def test_saving_keeps_weights_states_and_draws(tmp_path):
    _, model = make(tmp_path, num_sampled=8)
    first, second = batches(2)
    model.train_step(first)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    logs = model.train_step(second)
    for old, new in zip(model.optimizer.variables, loaded.optimizer.variables, strict=True):
        assert old.shape == new.shape
    again = loaded.train_step(second)
    assert float(again["sampled_perplexity"]) > 1.0 and set(again) == set(logs)
    for ours, theirs in zip(model.variables, loaded.variables, strict=True):
        if not any(part in ours.path for part in ("perplexity", "gradient_norm", "seed_gen")):
            assert_close(theirs, ours, name=ours.path)


@pytest.mark.slow
def test_fit_and_evaluate_under_stock_keras(tmp_path):
    _, model = make(tmp_path, num_sampled=8)
    data = tf.data.Dataset.from_generator(lambda: batches(4), output_signature=signature())
    data = data.apply(tf.data.experimental.assert_cardinality(4))
    history = model.fit(data, validation_data=data, epochs=3, verbose=0, shuffle=False).history
    assert set(history) == {
        *("sampled_perplexity", "gradient_norm"),
        *("val_forward_perplexity", "val_backward_perplexity", "val_perplexity"),
    }
    assert history["val_perplexity"][-1] < history["val_perplexity"][0]
    logs = model.evaluate(data, verbose=0, return_dict=True)
    assert_close(logs["perplexity"], history["val_perplexity"][-1])


@pytest.mark.parametrize(
    "bilm, options, message",
    [
        ({"initial_state": "carry"}, {}, "The pretrainer carries the states itself"),
        ({}, {"num_sampled": SIZE}, "smaller than the vocabulary; got 20 for a vocabulary of 20"),
        (
            {"vocabulary_size": None, "filters": [[1, 4]]},
            {"tie_embeddings": True},
            "no word embedding",
        ),
        (
            {"vocabulary_size": SIZE + 1},
            {"tie_embeddings": True},
            "must be that of the biLM, 21; got 20",
        ),
        ({}, {"reset_probability": 1.5}, r"`reset_probability` must be in \[0, 1\]; got 1.5"),
    ],
)
def test_options_that_do_not_fit(bilm, options, message):
    sizes = {"units": 6, "projection_dim": 4, "vocabulary_size": SIZE}
    with pytest.raises(ValueError, match=message):
        BiLMPretrainer(BiLM(**{**sizes, **bilm}), SIZE, **options)


@pytest.mark.slow
def test_training_in_float64(floatx64):
    model = BiLMPretrainer(BiLM(units=4, projection_dim=4, vocabulary_size=9), 9, batch_size=2)
    model.compile("sgd")
    ids = np.array([[1, 2, 3], [4, 5, 6]])
    batch = {"token_ids": ids, "next_token_id": ids + 1, "mask": ids > 0}
    batch |= {f"{name}_reverse": value for name, value in batch.items()}
    model.fit(batch, verbose=0)
    assert model.evaluate(batch, verbose=0)[-1] == pytest.approx(9.0, rel=0.5)
