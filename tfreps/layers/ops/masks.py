"""as_mask, check_shape: masks and tags, once it is sure that they belong to their vectors."""

import tensorflow as tf


def as_mask(mask, x):
    """The mask as bool; what would be stretched to fit, and so mean something else, is refused.

    Args:
        mask: bool or number, shape `[B, T]`; or None.
        x: tensor, shape `[B, T, ...]`, whose tokens it is about.

    Returns:
        bool tensor, shape `[B, T]`; or None.

    Raises:
        ValueError: for another shape, as far as it is known.

    Example:
    >>> as_mask([[1, 0]], tf.ones([1, 2, 8])).numpy()
    array([[ True, False]])
    """
    if mask is None:
        return None
    mask = tf.cast(mask, "bool")
    if not mask.shape.is_compatible_with(x.shape[:2]):
        raise ValueError(
            f"`mask` must have the shape [B, T] of its tokens, {x.shape[:2]}; got {mask.shape}."
        )
    return mask


def check_shape(name, tensor, shape, axes):
    """Refuses a tensor that would be stretched to fit, and so mean something else.

    Args:
        name: str. What an error calls it.
        tensor: of whatever shape.
        shape: what it must have, None for any size.
        axes: str. The same in letters.

    Raises:
        ValueError: for another shape, as far as it is known.

    Example:
    >>> check_shape("tags", tf.zeros([2, 7]), [2, None], "[B, T]")
    """
    if not tensor.shape.is_compatible_with(shape):
        expected = tf.TensorShape(shape)
        raise ValueError(f"`{name}` must be {axes}, here {expected}; got shape {tensor.shape}.")
