"""Highway: mixes each vector with a learned transform of itself."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops.annotations import Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.matmul import matmul


@keras.saving.register_keras_serializable(package="tfreps")
class Highway(Configurable, keras.layers.Layer):
    """Highway layer that mixes each vector with a learned transform of itself.

        gate = sigmoid(x @ gate_kernel + gate_bias)
        y = gate * relu(x @ transform_kernel + transform_bias) + (1 - gate) * x

    bilm-tf names the gate weights `W_carry` and `b_carry`, although they gate the transform.
    AllenNLP stores them negated and uses them to gate `x`.

    Args:
        gate_bias: float. Initial value of the gate bias. The lower it is, the closer the untrained
            layer is to the identity. Defaults to -2.0, as in bilm-tf.

    Call arguments:
        inputs: float, shape `[..., D]`.

    Returns:
        float32, shape `[..., D]`.

    Masking: each position is computed independently, and the mask is passed on unchanged.

    Reference: Srivastava, Greff and Schmidhuber, 2015, "Highway Networks", equation 3.

    Example:
    >>> tuple(Highway()(tf.ones([2, 5, 8])).shape)
    (2, 5, 8)
    """

    def __init__(self, gate_bias: float = -2.0, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.gate_bias = gate_bias
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        dim = input_shape[-1]
        normal = keras.initializers.RandomNormal(stddev=dim**-0.5)
        constant = keras.initializers.Constant(self.gate_bias)
        self.transform_kernel = self._add("transform_kernel", (dim, dim), normal)
        self.transform_bias = self._add("transform_bias", (dim,), "zeros")
        self.gate_kernel = self._add("gate_kernel", (dim, dim), normal.clone())
        self.gate_bias_weight = self._add("gate_bias", (dim,), constant)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        x = tf.cast(inputs, "float32")
        gate = tf.sigmoid(self._linear(x, self.gate_kernel, self.gate_bias_weight))  # [..., D]
        transform = tf.nn.relu(
            self._linear(x, self.transform_kernel, self.transform_bias)
        )  # [..., D]
        return gate * transform + (1.0 - gate) * x  # [..., D]

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape

    def _linear(self, x, kernel, bias):
        return matmul(x, kernel, self.compute_dtype) + tf.cast(bias, "float32")
