"""Tests BertPretrainer against NumPy: loss, gradient and metrics; and its errors."""

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand.bert import negative_log_likelihood, token_logits
from tests.closeness import BFLOAT16, assert_close
from tests.models.test_bert import IDS, SEGMENTS, make
from tests.paper_weights import pretrainer_weights
from tfreps.models import BertPretrainer

FEATURES = {
    "token_ids": IDS,
    "segment_ids": SEGMENTS,
    "masked_positions": np.array([[2, 1], [1, 0], [0, 0]]),
    "masked_ids": np.array([[7, 5], [6, 0], [0, 0]]),
    "masked_weights": np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]], "float32"),
    "next_sentence_labels": np.array([1, 0, 0]),
}


def pretrainer(next_sentence=True, **options):
    """Returns a model without dropout, with random weights."""
    encoder = make(dropout=0.0, attention_dropout=0.0, pooler=next_sentence, **options)
    model = BertPretrainer(encoder, next_sentence, dtype=encoder.dtype_policy)
    rng = np.random.default_rng(2)
    for layer in (model.transform, model.transform_norm, model.next_sentence_dense):
        for weight in layer.weights if layer else ():
            weight.assign(rng.normal(scale=0.5, size=weight.shape))
    model.token_bias.assign(rng.normal(scale=0.5, size=9))
    return model


def scores(model, features):
    """Returns `(NLL, whether the best is correct)` of each masked token and text, by loops."""
    read, weights = model.encoder(features), pretrainer_weights(model)
    masked, sentences = [], []
    for row, positions in enumerate(features["masked_positions"]):
        for m, position in enumerate(positions):
            if features["masked_weights"][row, m]:
                logits = token_logits(read["sequence_output"].numpy()[row, position], weights)
                target = features["masked_ids"][row, m]
                loss = negative_log_likelihood(logits, target)
                masked.append((loss, logits.argmax() == target))
        if model.next_sentence:
            logits = read["pooled_output"].numpy()[row] @ weights["W_N"] + weights["b_N"]
            target = features["next_sentence_labels"][row]
            loss = negative_log_likelihood(logits, target)
            sentences.append((loss, logits.argmax() == target))
    return np.array(masked), np.array(sentences)


def loss_of(model):
    return model.compute_loss(FEATURES, y_pred=model(FEATURES))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "next_sentence, options", [(True, {}), (False, {}), (False, {"embedding_dim": 6})]
)
def test_loss_and_metrics_equal_numpy(next_sentence, options):
    model = pretrainer(next_sentence, **options)
    model.compile("sgd")
    masked, sentences = scores(model, FEATURES)
    expected = masked[:, 0].mean() + (sentences[:, 0].mean() if next_sentence else 0.0)
    assert_close(loss_of(model), expected)
    figures = {name: float(value) for name, value in model.get_metrics_result().items()}
    assert figures.pop("loss") == 0.0  # only `fit` updates it
    wanted = {"masked_loss": masked[:, 0].mean(), "masked_accuracy": masked[:, 1].mean()}
    wanted["masked_perplexity"] = np.exp(masked[:, 0].mean())
    if next_sentence:
        wanted["next_sentence_loss"] = sentences[:, 0].mean()
        wanted["next_sentence_accuracy"] = sentences[:, 1].mean()
    assert_close(figures, wanted)


def test_gradients_equal_differences():
    model = pretrainer()
    weights = [
        model.encoder.token_embedding.embeddings,
        *(model.token_bias, model.transform.kernel, model.transform_norm.gamma),
        *(model.next_sentence_dense.kernel, model.encoder.pooler_dense.bias),
        model.encoder.blocks[0].expand.kernel,
    ]
    with tf.GradientTape() as tape:
        loss = loss_of(model)
    gradients = tape.gradient(loss, [weight.value for weight in weights])

    def numpy_loss():
        masked, sentences = scores(model, FEATURES)
        return masked[:, 0].mean() + sentences[:, 0].mean()

    rng, step = np.random.default_rng(3), 1e-2
    for weight, gradient in zip(weights, gradients, strict=True):
        value, along = weight.numpy(), rng.normal(size=weight.shape)
        along /= np.linalg.norm(along)
        around = []
        for sign in (1, -1):
            weight.assign(value + sign * step * along)
            around.append(numpy_loss())
        weight.assign(value)
        expected = (around[0] - around[1]) / (2 * step)
        found = (tf.convert_to_tensor(gradient).numpy() * along).sum()
        # The difference quotient has an error of the order of its step.
        assert found == pytest.approx(expected, rel=2e-2, abs=2e-4), weight.path


def test_means_do_not_depend_on_batches():
    model = pretrainer()
    model.compile("sgd")
    loss_of(model)
    together = model.get_metrics_result()
    model.reset_metrics()
    for row, masked in enumerate((2, 1, 0)):
        alone = {name: value[row : row + 1] for name, value in FEATURES.items()}
        for name in ("masked_positions", "masked_ids", "masked_weights"):
            alone[name] = alone[name][:, :masked]
        model.compute_loss(alone, y_pred=model(alone))
    for name, value in model.get_metrics_result().items():
        assert_close(value, together[name])


def test_bfloat16_keeps_weights_and_loss_in_float32():
    exact, rough = pretrainer(), pretrainer(dtype="mixed_bfloat16")
    rough.set_weights(exact.get_weights())
    loss = loss_of(rough)
    assert loss.dtype == tf.float32 and rough(FEATURES)["token_logits"].dtype == tf.float32
    assert loss != loss_of(exact)
    assert_close(loss, loss_of(exact), unit=BFLOAT16, terms=1)


def test_batches_without_masked_tokens_count_nothing():
    model = pretrainer(False)
    features = {**FEATURES, "masked_weights": np.zeros([3, 2], "float32")}
    assert model.compute_loss(features, y_pred=model(features)) == 0.0
    none = {**FEATURES, "masked_positions": np.zeros([3, 0], "int32")}
    assert model(none)["token_logits"].shape == (3, 0, 9)


def test_what_is_refused():
    with pytest.raises(ValueError, match="with `pooler=True`, or pass `next_sentence=F"):
        BertPretrainer(make(pooler=False))
    model = pretrainer()
    with pytest.raises(ValueError, match="`next_label` must be 0 or 1; got 2"):
        model.save_pretrained("/nowhere", next_label=2)
    with pytest.raises(ValueError, match="with the key `masked_positions`; got \\['token_ids'\\]"):
        model({"token_ids": IDS})
    with pytest.raises(ValueError, match="with the key `masked_positions`; got EagerTensor"):
        model(IDS)
    for wrong in (np.array([[9]] * 3), np.array([[-1]] * 3)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Masked positions must lie in"):
            model({**FEATURES, "masked_positions": wrong})
    for wrong in (np.array([1, 1, 1]), np.ones([3, 1])):
        with pytest.raises(ValueError, match="`masked_positions` must be integers"):
            model({**FEATURES, "masked_positions": wrong})
    with pytest.raises(ValueError, match="with the key `masked_ids`"):
        model.compute_loss({"token_ids": IDS}, y_pred={})
