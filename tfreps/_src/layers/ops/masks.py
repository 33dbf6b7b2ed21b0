"""Checks of masks, tags and other arguments that would otherwise give wrong results silently."""

import numpy as np
import tensorflow as tf


def as_mask(mask, x):
    """Returns the mask as bool, or `None`; checks that it has the shape of the tokens `x`."""
    if mask is None:
        return None
    mask = tf.cast(mask, "bool")
    if not mask.shape.is_compatible_with(x.shape[:2]):
        raise ValueError(
            f"`mask` must have the shape [B, T] of the tokens, {x.shape[:2]}; got {mask.shape}."
        )
    return mask


def full_mask(mask, x):
    """Returns the mask of the tokens `x` as bool `[B, T]`; all are real if `mask` is `None`."""
    return tf.ones(tf.shape(x)[:2], "bool") if mask is None else as_mask(mask, x)


def check_shape(name, tensor, shape, axes):
    """Raises a ValueError if the static shape of `tensor` is not compatible with `shape`.

    Otherwise TensorFlow could broadcast the tensor silently. `axes` names the expected axes in the
    message, as in `"[B, T, K]"`.
    """
    if not tensor.shape.is_compatible_with(shape):
        expected = tf.TensorShape(shape)
        raise ValueError(
            f"`{name}` must have the shape {axes}, here {expected}; got shape {tensor.shape}."
        )


def after(check, x):
    """Returns `x`; in a graph, an operation that uses the result runs only if `check` passes."""
    # `check`, a result of `tf.debugging`, is `None` in eager mode.
    with tf.control_dependencies([] if check is None else [check]):
        return tf.identity(x)


def checked_ids(ids, size, message):
    """Returns the ids; raises an InvalidArgumentError with `message` for ids not in 0..size-1.

    XLA drops the check.
    """
    in_range = tf.logical_and(ids >= 0, ids < size)
    check = tf.debugging.assert_equal(tf.reduce_all(in_range), True, message)
    return after(check, ids)


def checked_targets(name, ids, num_classes, mask=None):
    """Returns target ids as int32, 0 where masked, after checking their range.

    The message of the InvalidArgumentError shows the lowest id, or 0 if all are positive, and the
    highest id.
    """
    ids = tf.cast(ids, "int32")
    ids = ids if mask is None else tf.where(mask, ids, 0)
    ends = [tf.minimum(tf.reduce_min(ids), 0), tf.maximum(tf.reduce_max(ids), 0)]
    check = tf.debugging.assert_equal(
        tf.stack(ends),
        tf.clip_by_value(ends, 0, num_classes - 1),
        f"`{name}` must lie in 0..{num_classes - 1}, also for targets that the loss should ignore: "
        "instead of -1 or another id, pass any valid id with a `sample_weight` of 0, or mask the "
        "token. Below, x contains the lowest id (or 0) and the highest id:",
    )
    return after(check, ids)


def unpadded(tags, mask):
    """Returns tags `[B, T]` or `[B, k, T]` as nested lists of the real tokens. Only in eager mode.

    The result is one list for each sentence or, for `k` paths, one list for each path of it.
    """
    rows = zip(np.asarray(tags), np.asarray(mask), strict=True)
    return [row[..., real].tolist() for row, real in rows]


def is_soft(targets):
    """Returns True for targets that are distributions, float `[B, T, K]`, instead of ids."""
    dtype = getattr(targets, "dtype", None)
    rank = len(getattr(targets, "shape", ()))
    return rank == 3 and dtype is not None and tf.as_dtype(dtype).is_floating


def is_partial(targets):
    """Returns True for targets that are sets of possible tags, bool `[B, T, K]`."""
    dtype = getattr(targets, "dtype", None)
    rank = len(getattr(targets, "shape", ()))
    return rank == 3 and dtype is not None and tf.as_dtype(dtype).is_bool


def has_tag_values(targets):
    """Returns True for targets with one value for each tag: distributions or sets of tags."""
    return is_soft(targets) or is_partial(targets)


def checked_tag_values(name, targets, shape, mask):
    """Returns distributions as float32, or sets of tags as bool, `[B, T, K]`, after checking them.

    `shape` is that of the emissions.
    """
    if is_soft(targets):
        return checked_distributions(name, targets, shape, mask)
    targets = tf.convert_to_tensor(targets)
    check_shape(name, targets, shape, "[B, T, K]")
    return targets


def checked_distributions(name, targets, shape, mask):
    """Returns distributions as float32 `[B, T, K]`, 0 where masked; checks that they sum to 1."""
    targets = tf.cast(targets, "float32")
    check_shape(name, targets, shape, "[B, T, K]")
    targets = tf.where(mask[..., None], targets, 0.0)
    error = tf.abs(tf.reduce_sum(targets, -1) - tf.cast(mask, "float32"))
    check = tf.debugging.assert_equal(
        tf.reduce_all(targets >= 0.0) & tf.reduce_all(error < 1e-3),
        True,
        f"`{name}` must contain probabilities, whose sum is 1 at each real token. Divide each row "
        "by its sum.",
    )
    return after(check, targets)
