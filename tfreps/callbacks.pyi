from ._src.callbacks.best_model import BestModel as BestModel
from ._src.callbacks.checkpoints import Checkpoints as Checkpoints
from ._src.callbacks.checkpoints import TimeLimitReached as TimeLimitReached
from ._src.callbacks.epoch_log import EpochLog as EpochLog
from ._src.callbacks.reduce_learning_rate import ReduceLearningRate as ReduceLearningRate
from ._src.callbacks.training_log import TrainingLog as TrainingLog
from ._src.callbacks.weight_averages import WeightAverages as WeightAverages
