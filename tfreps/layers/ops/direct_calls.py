"""Calls functions of a CRF eagerly, as graphs and with little overhead."""

import functools

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import record

from tfreps.layers.ops.crf_loss import AXES, constrained
from tfreps.layers.ops.shape_buckets import ROWS, TOKENS, rounded


def are_given(emissions, mask, num_tags):
    """Returns True for float32 `[B, T, K]` and bool `[B, T]` that need no conversion or check."""
    if not (isinstance(emissions, tf.Tensor) and isinstance(mask, tf.Tensor)):
        return False
    if emissions.dtype is not tf.float32 or mask.dtype is not tf.bool:
        return False
    if emissions.shape.rank != 3 or mask.shape.rank != 2:
        return False
    *sizes, last = emissions.shape.as_list()
    return last == num_tags and mask.shape.as_list() == sizes and None not in sizes


def can_call(weights):
    """Returns True for an eager call of which no tape needs the gradient.

    Args:
        weights: list of variables of a layer. They must be plain variables of TensorFlow, not
            copies on several devices.
    """
    if not tf.executing_eagerly() or record.could_possibly_record():
        return False
    return not any(isinstance(weight, tf.distribute.DistributedValues) for weight in weights)


def key_of(allowed):
    """Returns a table of allowed transitions as bytes, which are quick to hash, or `None`."""
    return None if allowed is None else np.array(allowed).tobytes()


def call(function, use_xla, emissions, mask, weights, rate=1.0, allowed=None, **options):
    """Returns `function(emissions, mask, transitions, start, end, **options)`.

    A call of a `tf.function` takes about 0.1 ms to bind its arguments, and reading the scores and
    applying the constraints takes as long. For a short sentence, Viterbi decoding takes less time
    than that. This function therefore reads the weights inside the graph, and calls the traced
    graph without binding arguments.

    Args:
        function: one of the functions in `AXES` that take these arguments.
        use_xla: bool. Whether to compile the graph with XLA.
        emissions: float32, shape `[B, T, K]`.
        mask: bool, shape `[B, T]`.
        weights: list of the variables of the transition, start and end scores.
        rate: float. Factor of the weights. Defaults to 1.0.
        allowed: bytes of the bool table of allowed transitions, as `checked_transitions` returns
            it. If `None`, all are allowed. Defaults to `None`.
        options: other arguments of `function`, all hashable.

    Returns:
        The outputs of `function`: a tensor or a tuple of tensors.
    """
    graph = _graph(
        function,
        use_xla,
        emissions.shape[-1],
        weights[0].dtype,
        rate,
        allowed,
        tuple(options.items()),
    )
    handles = [weight.handle for weight in weights]
    rows, length, _ = emissions.shape.as_list()
    shape = (rounded(rows, ROWS), rounded(length, TOKENS)) if use_xla else (rows, length)
    if shape == (rows, length):
        results = graph(emissions, mask, *handles)
    else:
        results = graph(_padded(emissions, shape), _padded(mask, shape), *handles)
        sizes = {"B": rows, "T": length}
        results = [_cut(x, [*map(sizes.get, axes)]) for x, axes in zip(results, AXES[function])]
    return results[0] if len(results) == 1 else tuple(results)


def _padded(x, shape):
    """Pads the first two axes with zeros. NumPy takes a tenth of the time of eager operations."""
    x = x.numpy()
    padded = np.zeros([*shape, *x.shape[2:]], x.dtype)
    padded[: x.shape[0], : x.shape[1]] = x
    return tf.constant(padded)


def _cut(x, sizes):
    return tf.constant(x.numpy()[tuple(map(slice, sizes))])


@functools.cache
def _graph(function, use_xla, num_tags, dtype, rate, allowed, options):
    """Returns a function of emissions, mask and the handles of the weights."""
    if allowed is not None:
        size = num_tags + 2
        allowed = np.frombuffer(allowed, bool).reshape(size, size)

    def run(emissions, mask, *handles):
        shapes = [num_tags] * 2, [num_tags], [num_tags]
        scores = [
            tf.ensure_shape(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype), shape) * rate
            for handle, shape in zip(handles, shapes, strict=True)
        ]
        scores = constrained(scores, allowed, float("-inf"))
        return function(emissions, mask, *scores, **dict(options))

    signature = [tf.TensorSpec([None, None, num_tags]), tf.TensorSpec([None, None], "bool")]
    signature += [tf.TensorSpec([], "resource")] * 3
    graph = tf.function(run, signature, jit_compile=use_xla, autograph=False)
    graph = graph.get_concrete_function()
    return lambda *flat: graph.inference_fn.call_flat(*flat)
