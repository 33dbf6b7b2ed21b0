"""Shape checks for masks, tags and other arguments that could be broadcast silently."""

import tensorflow as tf


def as_mask(mask, x):
    """Returns the mask as bool after checking that it has the shape of the tokens.

    Args:
        mask: bool, int or float, shape `[B, T]`. If `None`, `None` is returned.
        x: tensor, shape `[B, T, ...]`. The tokens to which the mask applies.

    Returns:
        bool tensor, shape `[B, T]`, or `None` if `mask` is `None`.

    Raises:
        ValueError: If the static shape of the mask is not compatible with that of the tokens.

    Example:
    >>> as_mask([[1, 0]], tf.ones([1, 2, 8])).numpy()
    array([[ True, False]])
    """
    if mask is None:
        return None
    mask = tf.cast(mask, "bool")
    if not mask.shape.is_compatible_with(x.shape[:2]):
        raise ValueError(
            f"`mask` must have the shape [B, T] of the tokens, {x.shape[:2]}; got {mask.shape}."
        )
    return mask


def check_shape(name, tensor, shape, axes):
    """Checks the static shape of a tensor, because a wrong shape could be broadcast silently.

    Args:
        name: str. Name of the tensor in the error message.
        tensor: tensor of any shape.
        shape: list or `tf.TensorShape`. Expected shape, in which `None` allows any size.
        axes: str. Expected shape in the error message, such as `"[B, T]"`.

    Raises:
        ValueError: If the static shape of the tensor is not compatible with the expected shape.

    Example:
    >>> check_shape("tags", tf.zeros([2, 7]), [2, None], "[B, T]")
    """
    if not tensor.shape.is_compatible_with(shape):
        expected = tf.TensorShape(shape)
        raise ValueError(
            f"`{name}` must have the shape {axes}, here {expected}; got shape {tensor.shape}."
        )
