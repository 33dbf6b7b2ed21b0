"""LSTM layers with int8 products, for benchmarks.int8_lstm.

The products are TensorFlow's `QuantizedMatMulWithBiasAndDequantize`, which oneDNN computes. The
weights have one scale per matrix, and the vectors one per product, their largest absolute value.
"""

import numpy as np
import tensorflow as tf

KERNEL_LEVELS = 127  # of int8, on either side of zero
# The vectors use only half of the levels of uint8: on CPUs without VNNI, sums of two products are
# limited to 16 bits.
LEVELS = 63  # on either side of zero
ZERO = 64  # level of zero
MOST = 255  # level of the end of the range that TensorFlow expects


def int8_stack(lstm):
    """Returns a function that runs all layers of an `ElmoLSTM` with int8 products.

    Args:
        lstm: `ElmoLSTM` with a projection. Its weights become constants.

    Returns:
        Function from float32 `[B, T, P]`, without padding, to the outputs of the top layer, float32
        `[B, T, P]`.
    """
    weights = lstm.get_weights()  # kernel, bias and projection of each layer

    def run(x):
        x = tf.transpose(x, [1, 0, 2])  # [T, B, P]
        for layer in range(lstm.num_layers):
            y = int8_layer(lstm, weights[3 * layer : 3 * layer + 3], x)
            x = y + x if layer > 0 and lstm.use_skip_connections else y
        return tf.transpose(x, [1, 0, 2])

    return run


def int8_layer(lstm, weights, x):
    """Computes the equations of `projected_lstm` with int8 products, for inputs `[T, B, P]`."""
    kernel, bias, projection = weights
    dim, units = lstm.projection_dim, lstm.units
    steps, batch = tf.unstack(tf.shape(x)[:2])
    from_inputs = int8_product(tf.reshape(x, [-1, dim]), kernel[:dim]) + bias  # [T*B, 4U]
    from_inputs = tf.reshape(from_inputs, [steps, batch, 4 * units])

    def step(t, hidden, cell, outputs):
        z = from_inputs[t] + int8_product(hidden, kernel[dim:])  # [B, 4U]
        i, f, g, o = (z[:, n * units : (n + 1) * units] for n in range(4))  # [B, U] each
        cell = clip(tf.sigmoid(f + 1.0) * cell + tf.sigmoid(i) * tf.tanh(g), lstm.cell_clip)
        hidden = int8_product(tf.sigmoid(o) * tf.tanh(cell), projection)  # [B, P]
        hidden = clip(hidden, lstm.projection_clip)
        return t + 1, hidden, cell, outputs.write(t, hidden)

    start = 0, tf.zeros([batch, dim]), tf.zeros([batch, units]), tf.TensorArray("float32", steps)
    return tf.while_loop(lambda t, *_: t < steps, step, start)[-1].stack()  # [T, B, P]


def int8_product(x, kernel):
    """Multiplies vectors rounded to 7 bits by a constant matrix rounded to 8 bits.

        levels = round(x / s) + 64                    s = max |x| / 63
        y = (levels @ round(kernel / k) - 64 * sum_rows(round(kernel / k))) * s * k

    Args:
        x: float32, shape `[N, D]`.
        kernel: NumPy float32, shape `[D, E]`, with `k = max |kernel| / 127`.

    Returns:
        float32, shape `[N, E]`.
    """
    kernel_scale = float(np.abs(kernel).max()) / KERNEL_LEVELS
    rounded = np.round(kernel / kernel_scale).astype("int8")
    scale = tf.maximum(tf.reduce_max(tf.abs(x)), 1e-9) / LEVELS
    levels = tf.cast(tf.round(x / scale) + ZERO, tf.uint8)
    sums = rounded.sum(0, dtype="int32").astype("float32") * kernel_scale  # [E]
    return tf.raw_ops.QuantizedMatMulWithBiasAndDequantize(
        a=tf.bitcast(levels, tf.quint8),
        b=tf.bitcast(tf.constant(rounded), tf.qint8),
        bias=-ZERO * scale * sums,
        min_a=0.0,
        max_a=scale * MOST,
        min_b=-KERNEL_LEVELS * kernel_scale,
        max_b=KERNEL_LEVELS * kernel_scale,
        min_freezed_output=0.0,
        max_freezed_output=0.0,
        Toutput=tf.float32,
        input_quant_mode="SCALED",
    )


def clip(x, bound):
    return x if bound is None else tf.clip_by_value(x, -bound, bound)
