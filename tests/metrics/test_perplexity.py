"""Tests Perplexity against the formula, and with more tokens than float32 can count."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand.language_model import perplexity
from tests.closeness import assert_close
from tfreps.metrics import Perplexity

NLL = np.random.default_rng(0).exponential(5.0, size=(4, 3)).astype("float32")
MASK = NLL < 6.0


@pytest.mark.parametrize("parts", [[4], [1, 3], [1, 1, 1, 1]])
def test_does_not_depend_on_how_tokens_are_batched(parts):
    metric = Perplexity()
    for nll, mask in zip(tf.split(NLL, parts), tf.split(MASK, parts), strict=True):
        metric.update_state(nll, mask)
    expected = perplexity(NLL[MASK].astype(float).tolist())
    assert metric.result().dtype == tf.float32
    assert_close(float(metric.result()), expected)


def test_without_a_mask_all_tokens_count():
    metric = Perplexity()
    metric.update_state(NLL)
    assert_close(float(metric.result()), perplexity(NLL.ravel().tolist()))


def test_nothing_at_padding_reaches_the_sum():
    metric = Perplexity()
    metric.update_state([1.0, np.nan, np.inf], mask=[True, False, False])
    assert_close(float(metric.result()), np.exp(1.0))


def test_counts_on_beyond_what_float32_holds():
    metric = Perplexity()
    metric.count.assign(2.0**25)
    metric.total.assign(2.0**25 * 3.0)
    for _ in range(100):
        metric.update_state([4.0])
    assert float(metric.count) == 2**25 + 100
    assert float(metric.total) == 2**25 * 3.0 + 400.0


def test_starts_as_nan_and_can_be_reset():
    metric = Perplexity()
    assert np.isnan(metric.result())
    metric.update_state([1.0])
    metric.reset_state()
    assert np.isnan(metric.result())


def test_comes_back_from_its_config():
    metric = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(Perplexity(name="forward"))
    )
    assert isinstance(metric, Perplexity) and metric.name == "forward"
    assert keras.saving.get_registered_name(Perplexity) == "tfreps>Perplexity"


def test_under_a_mixed_policy_and_compiled():
    keras.config.set_dtype_policy("mixed_float16")
    metric = Perplexity()
    tf.function(metric.update_state)(tf.constant(NLL), tf.constant(MASK))
    expected = perplexity(NLL[MASK].astype(float).tolist())
    assert_close(float(metric.result()), expected)
