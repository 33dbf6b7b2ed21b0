"""Tests that the prediction of a model is traced once, whatever the shapes of its batches."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfreps._src.inference.loaded_model import trace_once


class Sum(keras.Model):
    def __init__(self):
        super().__init__()
        self.traced = 0
        self.built = True

    def call(self, features):
        self.traced += 1
        return {"sum": tf.reduce_sum(features["x"], axis=1)}


@pytest.mark.parametrize("eagerly", [False, True])
def test_shapes(eagerly):
    model = Sum()
    model.compile(run_eagerly=eagerly)
    signature = {"x": tf.TensorSpec([None, None], "float32")}
    for rows, columns in (1, 2), (3, 2), (3, 5), (0, 4), (2, 0):
        trace_once(model, signature)
        answer = model.predict_on_batch({"x": np.ones([rows, columns], "float32")})
        assert answer["sum"].tolist() == [columns] * rows
    assert model.traced == (5 if eagerly else 1)
