"""Learning rate schedules: linear warm-up and decay, and a rate that can be reduced."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_positive

Rate = float | keras.optimizers.schedules.LearningRateSchedule


@keras.saving.register_keras_serializable(package="tfreps")
class LinearWarmup(keras.optimizers.schedules.LearningRateSchedule):
    """Learning rate schedule of BERT: linear warm-up followed by linear decay.

        rate(step) = learning_rate * (step + 1) / warmup_steps              step < warmup_steps
                   = learning_rate * (total_steps - step) / (total_steps - warmup_steps)
                                                                            afterwards

    The rates of the first and the last update are above zero; from `total_steps` on, the rate is
    zero. A step is one batch, even if an optimizer accumulates the gradients of several batches.

    Args:
        learning_rate: float. Highest learning rate.
        total_steps: int. Step at which the rate reaches zero. If `None` (the default), the rate
            does not decay.
        warmup_steps: int. Number of warm-up steps. Defaults to a tenth of `total_steps`, rounded
            down, and to 0 without `total_steps`.

    Call arguments:
        step: int scalar. Number of the step, counted from 0.

    Returns:
        float32 scalar. The learning rate.

    Raises:
        ValueError: If `learning_rate` is not positive, or `warmup_steps` is negative or not below
            `total_steps`.

    Reference: Devlin et al., 2019, "BERT"; google-research/bert, "optimization.py", whose warm-up
    starts at zero and whose decay is `learning_rate * (total_steps - step) / total_steps`.

    Example:
    >>> schedule = LinearWarmup(1.0, total_steps=10, warmup_steps=4)
    >>> [round(float(schedule(step)), 2) for step in (0, 3, 4, 7, 9, 10)]
    [0.25, 1.0, 1.0, 0.5, 0.17, 0.0]
    """

    def __init__(
        self,
        learning_rate: float,
        total_steps: int | None = None,
        warmup_steps: int | None = None,
    ) -> None:
        check_positive(learning_rate=learning_rate)
        if warmup_steps is None:
            warmup_steps = (total_steps or 0) // 10
        if warmup_steps < 0 or (total_steps is not None and warmup_steps >= total_steps):
            limit = "" if total_steps is None else f" and below `total_steps` ({total_steps})"
            raise ValueError(f"`warmup_steps` must be at least 0{limit}; got {warmup_steps}.")
        self.learning_rate = learning_rate
        self.total_steps = total_steps
        self.warmup_steps = warmup_steps

    def __call__(self, step: int | tf.Tensor) -> tf.Tensor:
        step = tf.cast(tf.convert_to_tensor(step), "float32")
        share = tf.ones([])
        if self.total_steps is not None:
            share = (self.total_steps - step) / (self.total_steps - self.warmup_steps)
        if self.warmup_steps:
            share = tf.minimum(share, (step + 1.0) / self.warmup_steps)
        return self.learning_rate * tf.clip_by_value(share, 0.0, 1.0)

    def get_config(self) -> dict[str, Any]:
        names = "learning_rate", "total_steps", "warmup_steps"
        return {name: getattr(self, name) for name in names}


@keras.saving.register_keras_serializable(package="tfreps")
class ReducibleLearningRate(keras.optimizers.schedules.LearningRateSchedule):
    """Learning rate schedule that multiplies a rate or another schedule by a variable scale.

        rate(step) = scale * learning_rate(step)

    The scale can change during training. `keras.callbacks.ReduceLROnPlateau` sets the learning
    rate to a number, so it does not work with a schedule or with separate rates for groups of
    variables.

    Args:
        learning_rate: float or Keras schedule. The rate to multiply.
        scale: float, the initial scale, or a scalar `tf.Variable`, which several schedules may
            share. Defaults to 1.0.

    Attributes:
        scale: `tf.Variable`, scalar. The current scale.

    Call arguments:
        step: int scalar. Number of the step, counted from 0.

    Returns:
        float32 scalar. The learning rate.

    Example:
    >>> schedule = ReducibleLearningRate(1e-2)
    >>> _ = schedule.scale.assign(0.5)
    >>> round(float(schedule(0)), 4)
    0.005
    """

    def __init__(self, learning_rate: Rate, scale: float | tf.Variable = 1.0) -> None:
        self.learning_rate: Rate = learning_rate
        is_variable = isinstance(scale, tf.Variable)
        self.scale: tf.Variable = scale if is_variable else tf.Variable(scale, trainable=False)

    def __call__(self, step: int | tf.Tensor) -> tf.Tensor:
        rate = self.learning_rate
        return self.scale * (rate(step) if callable(rate) else rate)

    def get_config(self) -> dict[str, Any]:
        rate = self.learning_rate
        if callable(rate):
            rate = keras.saving.serialize_keras_object(rate)
        return {"learning_rate": rate, "scale": float(self.scale)}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> "ReducibleLearningRate":
        rate = config["learning_rate"]
        if isinstance(rate, dict):
            rate = keras.saving.deserialize_keras_object(rate)
        return cls(rate, config["scale"])
