"""Callbacks for Keras's `fit`: logs, checkpoints, best model, learning rate, averages."""

from tfreps._src.callbacks.best_model import BestModel
from tfreps._src.callbacks.checkpoints import Checkpoints, TimeLimitReached
from tfreps._src.callbacks.epoch_log import EpochLog
from tfreps._src.callbacks.reduce_learning_rate import ReduceLearningRate
from tfreps._src.callbacks.training_log import TrainingLog
from tfreps._src.callbacks.weight_averages import WeightAverages

__all__ = [
    "BestModel",
    "Checkpoints",
    "EpochLog",
    "TimeLimitReached",
    "ReduceLearningRate",
    "TrainingLog",
    "WeightAverages",
]
