"""Callbacks for Keras's `fit`: logs, checkpoints, best model, learning rate, averages."""

from tfreps._src.callbacks import (
    BestModel,
    Checkpoints,
    EpochLog,
    ReduceLearningRate,
    TimeLimitReached,
    TrainingLog,
    WeightAverages,
)

__all__ = [
    "BestModel",
    "Checkpoints",
    "EpochLog",
    "TimeLimitReached",
    "ReduceLearningRate",
    "TrainingLog",
    "WeightAverages",
]
