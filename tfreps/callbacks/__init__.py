"""Callbacks of a training run: figures for TensorBoard, a progress line, checkpoints, rates."""

from tfreps.callbacks.best_model import BestModel
from tfreps.callbacks.checkpoints import Checkpoints
from tfreps.callbacks.epoch_log import EpochLog
from tfreps.callbacks.rate_cuts import RateCuts
from tfreps.callbacks.training_log import TrainingLog

__all__ = ["BestModel", "Checkpoints", "EpochLog", "RateCuts", "TrainingLog"]
