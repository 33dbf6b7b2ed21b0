from ._src.optimizers.fused_adam import FusedAdam as FusedAdam
from ._src.optimizers.grouped_optimizer import GroupedOptimizer as GroupedOptimizer
from ._src.optimizers.optimizer_variables import build_optimizer as build_optimizer
from ._src.optimizers.schedules import LinearWarmup as LinearWarmup
from ._src.optimizers.schedules import ReducibleLearningRate as ReducibleLearningRate
from ._src.optimizers.tf1_adagrad import TF1Adagrad as TF1Adagrad
