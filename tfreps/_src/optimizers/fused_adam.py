"""FusedAdam: Keras's Adam in one pass over memory."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.optimizers.schedules import Rate
from tfreps._src.optimizers.summed_gradients import Gradient


@keras.saving.register_keras_serializable(package="tfreps")
class FusedAdam(keras.optimizers.Adam):
    """Adam optimizer that computes its update with TensorFlow's fused kernel.

        m += (1 - beta_1) * (gradient - m)
        v += (1 - beta_2) * (gradient ** 2 - v)
        rate = learning_rate * sqrt(1 - beta_2 ** t) / (1 - beta_1 ** t)
        weight -= rate * m / (sqrt(v) + epsilon)

    The results equal those of `keras.optimizers.Adam` up to rounding, in one pass over memory
    instead of eleven. The sparse gradient of an embedding table is converted to a dense one once
    instead of five times. With `weight_decay`, the optimizer is AdamW. As with Keras's Adam,
    bfloat16 weights do not change, because a `beta_2` of 0.999 rounds to 1 in bfloat16. Keep the
    weights in float32, as the dtype policy `mixed_bfloat16` does.

    With `use_ema=True`, the momentum of the weight averages rises to `ema_momentum`, so that the
    first weights are soon forgotten. In Keras's Adam, it is constant after the first update.

        average += (1 - min(ema_momentum, n / (n + 9))) * (weight - average)    after n updates

    Args:
        learning_rate: float or Keras schedule. Defaults to 0.001.
        amsgrad: bool. Must be `False` (the default), because the kernel does not support AMSGrad.
        name: str. Name of the optimizer. Defaults to `"adam"`.
        **kwargs: Further arguments of `keras.optimizers.Adam`.

    Raises:
        ValueError: If `amsgrad` is `True`.

    Reference: Kingma and Ba, 2015, "Adam: A Method for Stochastic Optimization", end of section 2;
    `tf.raw_ops.ResourceApplyAdam`; `tf.train.ExponentialMovingAverage` for the momentum.

    Example:
    >>> weight = keras.Variable([1.0])
    >>> FusedAdam(learning_rate=0.1).apply([tf.constant([3.0])], [weight])
    >>> weight.numpy().round(4)        # the first step has the length of the learning rate
    array([0.9], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Rate = 1e-3,
        amsgrad: bool = False,
        name: str = "adam",
        **kwargs: Any,
    ) -> None:
        if amsgrad:
            raise ValueError(
                "`amsgrad` must be False for FusedAdam; got True. For AMSGrad, use "
                "keras.optimizers.Adam."
            )
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)

    def update_step(
        self, gradient: Gradient, variable: keras.Variable, learning_rate: tf.Tensor
    ) -> None:
        number = self._get_variable_index(variable)
        dtype = variable.dtype
        step = tf.cast(self.iterations + 1, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[number].value.handle,
            v=self._velocities[number].value.handle,
            beta1_power=tf.pow(tf.cast(self.beta_1, dtype), step),
            beta2_power=tf.pow(tf.cast(self.beta_2, dtype), step),
            lr=tf.cast(learning_rate, dtype),
            beta1=tf.cast(self.beta_1, dtype),
            beta2=tf.cast(self.beta_2, dtype),
            epsilon=tf.cast(self.epsilon, dtype),
            grad=tf.cast(tf.convert_to_tensor(gradient), dtype),
        )

    def _update_model_variables_moving_average(self, trainable_variables):
        updates = tf.cast(self.iterations, "float32")  # before this one
        momentum = tf.minimum(self.ema_momentum, updates / (updates + 9.0))
        averages = self._model_variables_moving_average
        for weight, average in zip(trainable_variables, averages, strict=True):
            average.assign_add(tf.cast(1.0 - momentum, weight.dtype) * (weight - average))
