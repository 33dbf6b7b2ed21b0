"""Checks that masks and tags have the shape of their tokens."""

import tensorflow as tf


def as_mask(mask, x):
    """Returns the mask as bool, and rejects a shape that would be broadcast silently.

    Args:
        mask: bool or number, shape `[B, T]`, or `None`.
        x: tensor, shape `[B, T, ...]`. The tokens that the mask applies to.

    Returns:
        bool tensor, shape `[B, T]`, or `None`.

    Raises:
        ValueError: If the static shape of the mask is not that of the tokens.

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
    """Checks the shape of a tensor that would otherwise be broadcast silently.

    Args:
        name: str. Name of the tensor in the error message.
        tensor: tensor of any shape.
        shape: list of int or `None`. Expected shape; `None` allows any size.
        axes: str. Expected shape in the error message, such as `"[B, T]"`.

    Raises:
        ValueError: If the static shape of the tensor is not the expected shape.

    Example:
    >>> check_shape("tags", tf.zeros([2, 7]), [2, None], "[B, T]")
    """
    if not tensor.shape.is_compatible_with(shape):
        expected = tf.TensorShape(shape)
        raise ValueError(
            f"`{name}` must have the shape {axes}, here {expected}; got shape {tensor.shape}."
        )
