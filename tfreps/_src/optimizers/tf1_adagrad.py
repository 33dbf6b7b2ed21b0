"""TF1Adagrad: the Adagrad optimizer of TensorFlow 1, which bilm-tf uses."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_positive
from tfreps._src.optimizers.schedules import Rate
from tfreps._src.optimizers.summed_gradients import Gradient


@keras.saving.register_keras_serializable(package="tfreps")
class TF1Adagrad(keras.optimizers.Optimizer):
    """Adagrad optimizer of TensorFlow 1, with TensorFlow's fused kernels.

        accumulator += gradient ** 2
        weight -= learning_rate * gradient / sqrt(accumulator)

    Keras's own Adagrad adds an epsilon, starts its accumulators at 0.1 and makes five passes over
    memory instead of one. A sparse gradient changes only the rows of the weight that its indices
    select. These indices must be distinct, as they are in the gradients of `SampledSoftmax`.

    Args:
        learning_rate: float or Keras schedule. Defaults to 0.2, as in bilm-tf.
        initial_accumulator_value: float, positive. Initial value of the accumulators. Defaults to
            1.0, as in bilm-tf.
        name: str. Name of the optimizer. Defaults to `"adagrad"`.
        **kwargs: Further arguments of `keras.optimizers.Optimizer`.

    Raises:
        ValueError: If `initial_accumulator_value` is not positive.

    Reference: Duchi, Hazan and Singer, 2011, "Adaptive Subgradient Methods for Online Learning and
    Stochastic Optimization"; `tf.compat.v1.train.AdagradOptimizer`.

    Example:
    >>> weight = keras.Variable([1.0])
    >>> TF1Adagrad(learning_rate=0.2).apply([tf.constant([3.0])], [weight])
    >>> weight.numpy().round(4)        # 1 - 0.2 * 3 / sqrt(1 + 9)
    array([0.8103], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Rate = 0.2,
        initial_accumulator_value: float = 1.0,
        name: str = "adagrad",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        check_positive(initial_accumulator_value=initial_accumulator_value)
        self.initial_accumulator_value = initial_accumulator_value

    def build(self, variables: Sequence[keras.Variable]) -> None:
        if self.built:
            return
        super().build(variables)
        initial = keras.initializers.Constant(self.initial_accumulator_value)
        self._accumulators = [
            self.add_variable_from_reference(v, name="accumulator", initializer=initial)
            for v in variables
        ]

    def update_step(
        self, gradient: Gradient, variable: keras.Variable, learning_rate: tf.Tensor
    ) -> None:
        accumulator = self._accumulators[self._get_variable_index(variable)].value
        common = {
            "var": variable.handle,
            "accum": accumulator.handle,
            "lr": tf.cast(learning_rate, variable.dtype),
            "epsilon": tf.zeros([], variable.dtype),
        }
        if isinstance(gradient, tf.IndexedSlices):
            values = tf.cast(gradient.values, variable.dtype)
            tf.raw_ops.ResourceSparseApplyAdagradV2(**common, grad=values, indices=gradient.indices)
        else:
            gradient = tf.cast(gradient, variable.dtype)
            tf.raw_ops.ResourceApplyAdagradV2(**common, grad=gradient)

    def get_config(self) -> dict[str, Any]:
        value = self.initial_accumulator_value
        return {**super().get_config(), "initial_accumulator_value": value}
