"""BidirectionalRNN: base class of recurrent layers that read sentences in both directions."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.layers.ops.annotations import Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.masks import full_mask


class BidirectionalRNN(Configurable, keras.layers.Layer):
    """Base class of `BiLSTM` and `BiGRU`, whose call arguments and outputs `BiLSTM` describes.

    Subclasses set the number of gates and the shape of the bias, and implement `_run`.
    """

    _num_gates: int
    _bias_rows: tuple[int, ...] = ()  # shape of the bias before its last dimension

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, units=units)
        self.units = units
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_jit = False  # the loop is slower under XLA

    def build(self, input_shape: Shape) -> None:
        width = self._num_gates * self.units
        self.kernels = []
        self.recurrent_kernels = []
        self.biases = []
        for name in "forward", "backward":
            kernel = self._add(f"{name}_kernel", (input_shape[-1], width), "glorot_uniform")
            self.kernels.append(kernel)
            recurrent = self._add(f"{name}_recurrent_kernel", (self.units, width), _orthogonal)
            self.recurrent_kernels.append(recurrent)
            self.biases.append(self._add(f"{name}_bias", (*self._bias_rows, width), "zeros"))

    def call(
        self, inputs: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        inputs = tf.cast(inputs, "float32")
        mask = full_mask(mask, inputs)
        steps = tf.shape(inputs)[1]
        # The loop needs at least one step, so a padding step is added if `T` is 0.
        at_least_one = [[0, 0], [0, tf.cast(steps == 0, "int32")]]
        x = tf.where(tf.expand_dims(mask, -1), inputs, 0.0)
        x = tf.transpose(tf.pad(x, [*at_least_one, [0, 0]]), [1, 0, 2])  # [T, B, D]
        real = tf.expand_dims(
            tf.cast(tf.transpose(tf.pad(mask, at_least_one)), "float32"), -1
        )  # [T, B, 1]
        outputs = []
        last = []
        for direction in range(2):
            if direction == 1:
                x = tf.reverse(x, [0])
                real = tf.reverse(real, [0])
            y, hidden = self._run(direction, x, real, training)
            outputs.append(tf.reverse(y, [0]) if direction == 1 else y)
            last.append(hidden)
        y = tf.transpose(tf.concat(outputs, -1), [1, 0, 2])[:, :steps]  # [B, T, 2U]
        return tf.ensure_shape(y, [*inputs.shape[:2], 2 * self.units]), tf.concat(last, -1)

    def compute_output_shape(self, input_shape: Shape, **kwargs: Any) -> tuple[Shape, Shape]:
        width = 2 * self.units
        return (*input_shape[:2], width), (input_shape[0], width)

    def _run(self, direction, x, real, training):
        """Returns the outputs `[T, B, U]` and the last state `[B, U]` of one direction.

        `x` is float32 `[T, B, D]` and `real` float32 `[T, B, 1]`, 1 on tokens. In both directions,
        the first step is read first.
        """
        raise NotImplementedError


def _orthogonal(shape, dtype):
    """Returns a random orthogonal matrix, which TensorFlow can draw only in float32 or float64."""
    return tf.cast(keras.initializers.Orthogonal()(shape, "float32"), dtype)
