"""Matrix multiplications in the compute dtype of a layer."""

import tensorflow as tf

PAGE = 4096  # size of a memory page in bytes
EXTRA_COLUMNS = 32


def matmul(x, kernel, compute_dtype, transpose_kernel=False):
    """Multiplies `x`, `[..., D]`, by a kernel in `compute_dtype`, and returns float32 `[..., E]`.

    The kernel is `[D, E]`, or `[E, D]` with `transpose_kernel`, and may have batch axes. The layers
    of tfreps keep states, gates and outputs in float32. Only their matrix multiplications, which
    take most of the time, can use a lower precision.
    """
    x = tf.cast(x, compute_dtype)
    kernel = tf.cast(kernel, compute_dtype)
    return tf.cast(tf.matmul(x, kernel, transpose_b=transpose_kernel), "float32")


def widened(kernel):
    """Returns a matrix, with columns of zeros appended if its rows are a multiple of 4096 bytes.

    Without these columns, a multiplication of few rows takes up to 2.5 times as long, probably
    because the values of a column compete for the same few lines of the CPU's L1 cache. The other
    columns of the result do not change. Only float32 matrices become faster, so matrices of other
    dtypes are returned unchanged.
    """
    if kernel.dtype != tf.float32 or kernel.shape[1] * kernel.dtype.size % PAGE:
        return kernel
    return tf.pad(kernel, [[0, 0], [0, EXTRA_COLUMNS]])


def dense_of_tokens(dense, x):
    """Applies a Keras `Dense` layer to `x`, `[B, T, D]`, and returns `[B, T, units]`.

    For speed, the tokens are reshaped to one matrix. This function is used where the kernel must
    belong to a Keras layer, for `quantize` and `enable_lora`.
    """
    batch = x.shape[0]
    length = x.shape[1]
    dim = x.shape[2]
    y = dense(tf.reshape(x, [-1, dim]))  # [B*T, E]
    y = tf.reshape(y, [*tf.unstack(tf.shape(x)[:2]), dense.units])
    return tf.ensure_shape(y, [batch, length, dense.units])
