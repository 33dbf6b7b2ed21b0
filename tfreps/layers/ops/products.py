"""Matrix products in the compute dtype of a layer."""

import tensorflow as tf

PAGE = 4096  # bytes
EXTRA_COLUMNS = 32


def product(x, kernel, compute_dtype, transpose_kernel=False):
    """Multiplies a tensor by a kernel in `compute_dtype` and returns float32.

        y = x @ kernel        or        y = x @ kernel^T

    The layers of tfreps keep states, gates and outputs in float32. Only their matrix products,
    which take most of the time, can use a lower precision.

    Args:
        x: float, shape `[..., D]`.
        kernel: float, shape `[D, E]`, or `[E, D]` with `transpose_kernel`. It may also have batch
            axes, as in `tf.matmul`.
        compute_dtype: str or dtype. Dtype of the product, such as `"float32"` or `"bfloat16"`.
        transpose_kernel: bool. Whether to multiply by the transpose of `kernel`. Defaults to False.

    Returns:
        float32, shape `[..., E]`.

    Example:
    >>> product(tf.ones([2, 3]), tf.ones([3, 4]), "bfloat16").numpy()[0, 0].item()
    3.0
    """
    x = tf.cast(x, compute_dtype)
    kernel = tf.cast(kernel, compute_dtype)
    return tf.cast(tf.matmul(x, kernel, transpose_b=transpose_kernel), "float32")


def widened(kernel):
    """Appends columns of zeros to a float32 matrix whose rows are a multiple of 4096 bytes long.

    Without them, a product with few rows takes up to 2.5 times as long, probably because the
    numbers of a column share few places in the first cache of the CPU. The other columns of the
    product do not change. bfloat16 products do not gain from it.

    Args:
        kernel: float, shape `[D, E]`.

    Returns:
        Tensor like `kernel`, shape `[D, E]` or `[D, E + 32]`.

    Example:
    >>> widened(tf.ones([3, 2048])).shape, widened(tf.ones([3, 2000])).shape
    (TensorShape([3, 2080]), TensorShape([3, 2000]))
    """
    if kernel.dtype != tf.float32 or kernel.shape[1] * kernel.dtype.size % PAGE:
        return kernel
    return tf.pad(kernel, [[0, 0], [0, EXTRA_COLUMNS]])


def dense_of_tokens(dense, x):
    """Applies a Keras `Dense` layer to all vectors as one matrix, for speed.

    This function is used where the kernel must belong to a Keras layer to support `quantize` and
    `enable_lora`.

    Args:
        dense: `keras.layers.Dense` with `E` units.
        x: float, shape `[B, T, D]`.

    Returns:
        float, shape `[B, T, E]`, in the compute dtype of the layer.

    Example:
    >>> import keras
    >>> dense_of_tokens(keras.layers.Dense(4), tf.ones([2, 5, 3])).shape
    TensorShape([2, 5, 4])
    """
    batch = x.shape[0]
    length = x.shape[1]
    dim = x.shape[2]
    y = dense(tf.reshape(x, [-1, dim]))  # [B*T, E]
    y = tf.reshape(y, [*tf.unstack(tf.shape(x)[:2]), dense.units])
    return tf.ensure_shape(y, [batch, length, dense.units])
