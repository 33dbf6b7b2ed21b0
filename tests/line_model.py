"""A linear model to train, and the options that every training command has."""

import argparse

import keras

from tfreps._src.models.whole_model import WholeModel
from tfreps.training.options.training_options import LABELING as OPTIONS


class Line(WholeModel, keras.Sequential):
    """Sequential model with the interface of `WholeModel`, without parts."""


def make_model():
    keras.utils.set_random_seed(1)
    line = keras.layers.Dense(1, kernel_initializer="zeros")
    model = Line([keras.Input([2]), keras.layers.Dropout(0.3, seed=2), line])
    model.compile(keras.optimizers.Adam(0.1), "mse", metrics=["mae"])
    return model


def options(**given):
    defaults = {name: option.default for name, option in OPTIONS.items()}
    of_encoders = {"epochs": 30, "learning_rate": 1e-3, "schedule": "constant"}
    return argparse.Namespace(**{**defaults, **of_encoders, "resume": False, **given})
