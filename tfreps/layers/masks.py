"""as_mask: a mask of real tokens as bool, once it is sure that it belongs to its vectors."""

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
