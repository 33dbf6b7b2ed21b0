"""Optimizers and learning rate schedules that Keras does not have."""

from tfreps._src.optimizers.fused_adam import FusedAdam
from tfreps._src.optimizers.grouped_optimizer import GroupedOptimizer
from tfreps._src.optimizers.optimizer_variables import build_optimizer
from tfreps._src.optimizers.schedules import LinearWarmup, ReducibleLearningRate
from tfreps._src.optimizers.tf1_adagrad import TF1Adagrad

__all__ = [
    "ReducibleLearningRate",
    "FusedAdam",
    "GroupedOptimizer",
    "LinearWarmup",
    "TF1Adagrad",
    "build_optimizer",
]
