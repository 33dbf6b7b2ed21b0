"""Matrix products in a layer's compute precision, with float32 results."""

import tensorflow as tf


def product(x, kernel, compute_dtype, transpose_kernel=False):
    """Multiplies in `compute_dtype` and returns float32.

        y = x @ kernel        or        y = x @ kernel^T

    The layers of tfreps keep states, gates and outputs in float32 and lower the
    precision of their products alone: that is where the time goes.

    Args:
        x: float, shape `[..., D]`.
        kernel: float, shape `[D, E]`, or `[E, D]` with `transpose_kernel`.
        compute_dtype: str or dtype, for example `"float32"` or `"bfloat16"`.
        transpose_kernel: bool. Whether to multiply with the transpose.

    Returns:
        float32, shape `[..., E]`.

    Example:
    >>> product(tf.ones([2, 3]), tf.ones([3, 4]), "bfloat16").numpy()[0, 0].item()
    3.0
    """
    x = tf.cast(x, compute_dtype)
    kernel = tf.cast(kernel, compute_dtype)
    return tf.cast(tf.matmul(x, kernel, transpose_b=transpose_kernel), "float32")
