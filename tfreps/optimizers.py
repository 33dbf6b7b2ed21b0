"""Optimizers and learning rate schedules that Keras does not have."""

from tfreps._src.optimizers import (
    FusedAdam,
    GroupedOptimizer,
    LinearWarmup,
    ReducibleLearningRate,
    TF1Adagrad,
    build_optimizer,
)

__all__ = [
    "ReducibleLearningRate",
    "FusedAdam",
    "GroupedOptimizer",
    "LinearWarmup",
    "TF1Adagrad",
    "build_optimizer",
]
