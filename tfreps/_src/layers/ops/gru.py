"""gru: a GRU layer (gated recurrent unit) in one direction."""

import tensorflow as tf

from tfreps._src.layers.ops.matmul import matmul
from tfreps._src.layers.ops.portable import is_portable
from tfreps._src.layers.ops.position_loop import recur, whole_blocks


def gru(inputs, mask, kernel, recurrent_kernel, bias, compute_dtype):
    """Runs one GRU layer in one direction over all steps, from a state of zeros.

        x_z, x_r, x_n = split(x_t @ kernel + bias[0])
        h_z, h_r, h_n = split(h_{t-1} @ recurrent_kernel + bias[1])
        z = sigmoid(x_z + h_z)
        r = sigmoid(x_r + h_r)
        n = tanh(x_n + r * h_n)
        h_t = z * h_{t-1} + (1 - z) * n

    This is the GRU of `keras.layers.GRU(reset_after=True)`, of cuDNN and of Paddle. The inputs of
    all steps are multiplied by the kernel at once before the loop.

    Args:
        inputs: float32, shape `[T, B, D]`, with at least one step.
        mask: float32, shape `[T, B, 1]`. 1 on real tokens, 0 elsewhere. At a masked step, the
            state is unchanged and the output is zero.
        kernel: float, shape `[D, 3 * U]`.
        recurrent_kernel: float, shape `[U, 3 * U]`.
        bias: float, shape `[2, 3 * U]`.
        compute_dtype: str. The dtype of the matrix multiplications.

    Returns:
        Tuple `(outputs, hidden)`, both float32: the state of each step, `[T, B, U]`, and the state
        after the last step, `[B, U]`.

    Reference: Cho et al., 2014, "Learning Phrase Representations using RNN Encoder-Decoder for
    Statistical Machine Translation"; cuDNN, for the reset gate after the matrix multiplication.
    """
    kernel, recurrent_kernel = (tf.cast(x, compute_dtype) for x in (kernel, recurrent_kernel))
    input_bias, recurrent_bias = tf.unstack(tf.cast(bias, "float32"))
    num_steps, batch, dim = tf.unstack(tf.shape(inputs))
    units = recurrent_kernel.shape[0]
    terms = matmul(tf.reshape(inputs, [-1, dim]), kernel, compute_dtype) + input_bias  # [T*B, 3U]
    terms = tf.reshape(terms, [num_steps, batch, 3 * units])

    def step(hidden, term, real):
        back = matmul(hidden, recurrent_kernel, compute_dtype) + recurrent_bias  # [B, 3U]
        gates = tf.sigmoid(term[:, : 2 * units] + back[:, : 2 * units])  # [B, 2U]
        z, r = gates[:, :units], gates[:, units:]
        n = tf.tanh(term[:, 2 * units :] + r * back[:, 2 * units :])
        keep = 1.0 - real * (1.0 - z)
        return keep * hidden + (1.0 - keep) * n  # [B, U]

    hidden = tf.zeros([batch, units])
    if not is_portable():
        states = tf.scan(lambda hidden, values: step(hidden, *values), (terms, mask), hidden)
        return states * mask, states[-1]

    def step_with_output(state, term, real):
        hidden = step(*state, term, real)
        return (hidden,), (hidden * real,)

    padding = [[0, whole_blocks(num_steps) - num_steps], [0, 0], [0, 0]]
    padded = [tf.pad(terms, padding), tf.pad(mask, padding)]
    spec = tf.TensorSpec([None, units])
    (hidden,), (outputs,) = recur(step_with_output, (hidden,), padded, [spec])
    return outputs[:num_steps], hidden
