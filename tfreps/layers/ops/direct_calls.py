"""Calls functions of a CRF eagerly, as graphs and with little overhead."""

import functools

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context, record

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
    """Returns True in an eager call that no tape records, if the weights are plain variables.

    Args:
        weights: list of the values of a layer's weights. They can also be tensors, or copies of a
            variable on several devices.
    """
    if not tf.executing_eagerly() or record.could_possibly_record():
        return False
    copies = tf.distribute.DistributedValues
    return all(isinstance(w, tf.Variable) and not isinstance(w, copies) for w in weights)


def key_of(allowed):
    """Returns a table of allowed transitions as bytes, which are quick to hash, or `None`."""
    return None if allowed is None else np.array(allowed).tobytes()


def call(function, use_xla, emissions, mask, weights, rate=1.0, allowed=None, **options):
    """Returns `function(emissions, mask, transitions, start, end, **options)`.

    Binding the arguments of a `tf.function` takes about 0.1 ms, and so do reading the scores and
    applying the constraints in separate operations. Decoding a short sentence takes less than
    that. The graph therefore reads the weights itself, and is called without binding arguments. It
    is traced once for each number of tags. With XLA, the batch is padded to one of few shapes, for
    each of which the graph is compiled once.

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
        axes = AXES[function]
        results = [_cut(x, a, rows, length) for x, a in zip(results, axes, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


def _padded(x, shape):
    """Pads the first two axes with zeros. NumPy takes a tenth of the time of eager operations."""
    x = x.numpy()
    padded = np.zeros([*shape, *x.shape[2:]], x.dtype)
    padded[: x.shape[0], : x.shape[1]] = x
    return tf.constant(padded)


def _cut(x, axes, rows, length):
    """Removes the padding from the axes `B` and `T` of `x`."""
    sizes = [
        {"B": rows, "T": length}.get(axis, size) for axis, size in zip(axes, x.shape, strict=True)
    ]
    if x.shape.as_list() == sizes:
        return x
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

    def called(*flat):
        name, number = graph.inference_fn.name, len(graph.outputs)
        return context.context().call_function(name, list(flat), number)

    return called
