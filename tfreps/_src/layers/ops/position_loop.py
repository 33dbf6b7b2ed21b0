"""recur: loop over the positions of sentences, for chains and exported LSTMs."""

import tensorflow as tf

from tfreps._src.layers.ops.portable import is_portable

# Number of positions per loop iteration. More positions make graphs larger and only slightly
# faster.
BLOCK = 4


def recur(step, state, inputs, outputs, reverse=False, after_block=None):
    """Runs `state, outputs = step(state, *values of inputs at t)` for all positions `t`.

    The first axis of the inputs is the position. The number of positions must be a multiple of
    BLOCK. `outputs` are the specs of the outputs at one position. Returns the final state, and the
    outputs with the position as the first axis. `reverse` runs the positions from the last to the
    first, and does not change the order of the returned outputs. In a plain graph, the overhead of
    a loop iteration exceeds the time of a step; each iteration therefore processes BLOCK positions,
    followed by `state = after_block(state)`.
    """
    inputs = [_in_blocks(array) for array in inputs]  # [P / BLOCK, BLOCK, ...]
    num_blocks = tf.shape(inputs[0])[0]
    order = range(BLOCK)[::-1] if reverse else range(BLOCK)

    if is_portable():
        batch = tf.shape(inputs[0])[2]
        arrays = tuple(_empty(spec, batch) for spec in outputs)
        write = _prepended if reverse else _appended
    else:
        arrays = tuple(
            tf.TensorArray(spec.dtype, num_blocks, element_shape=[BLOCK, *spec.shape])
            for spec in outputs
        )
        write = tf.TensorArray.write

    def body(block, state, arrays):
        values = [tf.unstack(tf.gather(array, block)) for array in inputs]
        rows = [None] * BLOCK
        for t in order:
            state, rows[t] = step(state, *(value[t] for value in values))
        state = after_block(state) if after_block else state
        rows = zip(*rows, strict=True)
        arrays = tuple(write(a, block, tf.stack(r)) for a, r in zip(arrays, rows, strict=True))
        return block - 1 if reverse else block + 1, state, arrays

    first = num_blocks - 1 if reverse else tf.constant(0)
    shapes = tf.TensorShape([]), tuple(x.shape for x in state), _growing(outputs)
    _, state, arrays = tf.while_loop(
        lambda block, *_: block >= 0 if reverse else block < num_blocks,
        body,
        (first, state, arrays),
        shapes if is_portable() else None,
        # Iterations cannot overlap, because each depends on the previous one.
        parallel_iterations=1,
    )
    return state, arrays if is_portable() else tuple(array.concat() for array in arrays)


def whole_blocks(length):
    """Returns `length`, a number of positions, rounded up to a multiple of BLOCK."""
    return (length + BLOCK - 1) // BLOCK * BLOCK


def _in_blocks(x):
    """Returns `x`, `[T, ...]`, with the shape `[T / BLOCK, BLOCK, ...]`."""
    length, *others = tf.unstack(tf.shape(x))
    return tf.reshape(x, [length // BLOCK, BLOCK, *others])


def _empty(spec, batch):
    """Returns a tensor with 0 rows of the shape in `spec`; `batch` replaces an unknown size."""
    shape = [batch if size is None else size for size in spec.shape]
    return tf.zeros([0, *shape], spec.dtype)


def _growing(outputs):
    return tuple(tf.TensorShape([None, *spec.shape]) for spec in outputs)


def _appended(array, block, rows):
    del block
    return tf.concat([array, rows], 0)


def _prepended(array, block, rows):
    del block
    return tf.concat([rows, array], 0)
