"""Checks of masks, tags and other arguments that would otherwise give wrong results silently."""

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


def checked_targets(name, ids, num_classes, mask=None):
    """Returns target ids as int32, 0 where masked, after checking their range.

    Args:
        name: str. Name of the ids in the error message.
        ids: numbers of any shape.
        num_classes: int. Number of tags or labels.
        mask: bool tensor of the same shape. If `None`, all ids are checked. Defaults to `None`.

    Raises:
        tf.errors.InvalidArgumentError: If an id is outside `0..num_classes - 1`. The message shows
            the lowest id, or 0 if all are positive, and the highest id.

    Example:
    >>> checked_targets("tags", [[2, -1]], 3, mask=[[True, False]]).numpy()
    array([[2, 0]], dtype=int32)
    """
    ids = tf.cast(ids, "int32")
    ids = ids if mask is None else tf.where(mask, ids, 0)
    ends = [tf.minimum(tf.reduce_min(ids), 0), tf.maximum(tf.reduce_max(ids), 0)]
    check = tf.debugging.assert_equal(
        tf.stack(ends),
        tf.clip_by_value(ends, 0, num_classes - 1),
        f"`{name}` must lie in 0..{num_classes - 1}, also where -1 or another id marks a target to "
        "ignore: there, pass any valid id with a `sample_weight` of 0, or mask the token. x is the "
        "lowest id, or 0, and the highest id:",
    )
    with tf.control_dependencies([] if check is None else [check]):
        return tf.identity(ids)
