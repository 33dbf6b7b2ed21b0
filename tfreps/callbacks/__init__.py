"""Callbacks for Keras's `fit`: logs, checkpoints, best model, learning rate, averages."""

from tfreps.callbacks.best_model import BestModel
from tfreps.callbacks.checkpoints import Checkpoints, OutOfTime
from tfreps.callbacks.epoch_log import EpochLog
from tfreps.callbacks.rate_cuts import RateCuts
from tfreps.callbacks.training_log import TrainingLog
from tfreps.callbacks.weight_averages import WeightAverages

__all__ = [
    "BestModel",
    "Checkpoints",
    "EpochLog",
    "OutOfTime",
    "RateCuts",
    "TrainingLog",
    "WeightAverages",
]
