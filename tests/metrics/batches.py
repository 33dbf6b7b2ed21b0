"""Batches of tag ids with masks that have gaps, and noise under the mask."""

import keras
import numpy as np


def to_batch(true, pred, tags, rng):
    """Returns `y_true`, `y_pred` and `mask`: tokens scattered over longer rows of noise."""
    width = max(map(len, true), default=0) + 4
    shape = (len(true), width)
    y_true, y_pred = rng.integers(0, len(tags), size=(2, *shape))
    mask = np.zeros(shape, bool)
    for row, (gold, guess) in enumerate(zip(true, pred, strict=True)):
        positions = np.sort(rng.permutation(width)[: len(gold)])
        mask[row, positions] = True
        y_true[row, positions] = [tags.index(tag) for tag in gold]
        y_pred[row, positions] = [tags.index(tag) for tag in guess]
    return y_true.astype("int32"), y_pred.astype("int32"), mask


class Echo(keras.Model):
    """Model that returns its inputs; its loss is that of an unrelated weight."""

    def build(self, input_shape):
        self.weight = self.add_weight(shape=(), initializer="ones")

    def call(self, ids):
        return ids

    def compute_loss(self, *_, **__):
        return self.weight**2


def evaluate(metric, y_true, y_pred, mask, batch_size):
    """Evaluates the metric in a compiled model that returns `y_pred`."""
    model = Echo()
    model.compile("sgd", weighted_metrics=[metric])
    options = {"sample_weight": mask.astype("float32"), "batch_size": batch_size, "verbose": 0}
    fitted = model.fit(y_pred, y_true, **options).history[metric.name][0]
    evaluated = model.evaluate(y_pred, y_true, return_dict=True, **options)[metric.name]
    assert fitted == evaluated
    return evaluated


def round_trip(metric):
    """Recreates the metric from its config, as a `.keras` file does."""
    return keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
