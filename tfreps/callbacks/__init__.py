"""Callbacks of a training run: figures for TensorBoard, a progress line, checkpoints."""

from tfreps.callbacks.best_model import BestModel
from tfreps.callbacks.checkpoints import Checkpoints
from tfreps.callbacks.epoch_log import EpochLog
from tfreps.callbacks.training_log import TrainingLog

__all__ = ["BestModel", "Checkpoints", "EpochLog", "TrainingLog"]
