"""Optimizers and learning rate schedules that Keras does not have."""

from tfreps.optimizers.fused_adam import FusedAdam
from tfreps.optimizers.grouped_optimizer import GroupedOptimizer
from tfreps.optimizers.optimizer_variables import build_optimizer
from tfreps.optimizers.schedules import CutRate, LinearWarmup
from tfreps.optimizers.tf1_adagrad import TF1Adagrad

__all__ = [
    "CutRate",
    "FusedAdam",
    "GroupedOptimizer",
    "LinearWarmup",
    "TF1Adagrad",
    "build_optimizer",
]
