"""Batch sizes that compiled functions share, so that XLA compiles few shapes."""

import bisect

import tensorflow as tf

LARGEST = 1 << 16  # larger sizes are not padded


def _sizes(first, last_exact, parts, step):
    """Returns all sizes up to `last_exact`, and then those that are multiples of a step.

    The step is the last power of two divided by `parts`, but at least `step`.
    """
    sizes = [*range(first, last_exact)]
    power = last_exact
    while power < LARGEST:
        sizes += range(power, 2 * power, max(power // parts, step))
        power *= 2
    return [*sizes, LARGEST]


# Padding takes as long as decoding a short sentence, which is therefore not padded. The recursions
# pad tokens to multiples of 4 in any case.
ROWS = _sizes(1, 4, 2, 1)  # 1, 2, 3, 4, 6, 8, 12, 16, ...
TOKENS = _sizes(4, 16, 16, 4)  # 4, 5, 6, ..., 15, 16, 20, 24, ..., 124, 128, 136, 144, ...


def rounded(size, sizes):
    """Returns the smallest shared size that is at least `size`.

    Args:
        size: int or int32 scalar tensor.
        sizes: list of int, `ROWS` or `TOKENS`.

    Returns:
        int or int32 scalar tensor. It is `size` itself if `size` is above LARGEST.

    Example:
    >>> rounded(50, TOKENS), rounded(5, ROWS)
    (52, 6)
    """
    if isinstance(size, int):
        return sizes[bisect.bisect_left(sizes, size)] if size <= LARGEST else size
    place = tf.searchsorted(sizes, [size])[0]
    return tf.maximum(tf.gather([*sizes, 0], place), size)


def in_buckets(run, batch, others, axes, **options):
    """Calls `run(*batch, *others, **options)` with the batch padded to sizes of few shapes.

    Only sizes that are unknown when a graph is built are padded: XLA compiles the others once per
    graph, and padding takes too long in eager calls. The padding consists of zeros, so that it is
    masked.

    Args:
        run: function. It returns a tensor, or a nested structure of tensors.
        batch: list of tensors of shape `[B, T, ...]` or `[B]`. The first one has the axis `T`.
        others: list of arguments without the axes `B` and `T`.
        axes: tuple of str. The axes of each tensor that `run` returns, such as `"BTK"`. The
            letters `B` and `T` mark those to which the padding is removed.

    Returns:
        The outputs of `run`, without the padding.

    Example:
    >>> in_buckets(lambda x: x + 1, [tf.zeros([3, 5])], [], ("BT",)).shape
    TensorShape([3, 5])
    """
    sizes = dict(zip("BT", batch[0].shape, strict=False))
    given = _unknown(sizes, batch[0])
    shared = {"B": ROWS, "T": TOKENS}
    missing = {name: rounded(size, shared[name]) - size for name, size in given.items()}
    if not missing:
        return run(*batch, *others, **options)
    results = run(*(_padded(x, missing) for x in batch), *others, **options)
    flat = tf.nest.flatten(results)
    cut = [_cut(x, name, given, missing) for x, name in zip(flat, axes, strict=True)]
    return tf.nest.pack_sequence_as(results, cut)


def _unknown(sizes, tensor):
    known = tf.shape(tensor)
    return {name: known["BT".index(name)] for name, size in sizes.items() if size is None}


def _padded(x, missing):
    widths = [missing.get(name, 0) for name in "BT"[: x.shape.rank]]
    widths += [0] * (x.shape.rank - len(widths))
    return tf.pad(x, [[0, width] for width in widths])


def _cut(x, axes, sizes, missing):
    """Removes the padding from the axes of `x` that have any."""
    if not any(name in missing for name in axes):
        return x
    return x[tuple(slice(sizes[name] if name in missing else None) for name in axes)]
