"""Records, counts and times the gradients that workers sum over all replicas."""

import contextlib

import numpy as np
import tensorflow as tf

from benchmarks.runner import alternately
from tfreps._src.layers.ops.replicas import num_replicas, sum_over_replicas
from tfreps._src.models import bilm_pretrainer
from tfreps._src.optimizers import summed_gradients

CALLERS = bilm_pretrainer, summed_gradients  # modules with their own reference to `sum_gradients`


@contextlib.contextmanager
def recorded_gradients():
    """Yields, in a context, a list to which every step adds the gradients that it sums.

    Only steps that are traced in the context are recorded, and only with several replicas. The
    gradients are those of this replica before the sum: tensors and `tf.IndexedSlices`.
    """
    steps, original = [], summed_gradients.sum_gradients

    def record_and_sum(gradients):
        if num_replicas() > 1:
            given = [gradient for gradient in gradients if gradient is not None]
            _record(given, steps)
        return original(gradients)

    for module in CALLERS:
        module.sum_gradients = record_and_sum
    try:
        yield steps
    finally:
        for module in CALLERS:
            module.sum_gradients = original


def count_bytes(gradients):
    """Returns the sizes in bytes of the dense and of the sparse gradients of a replica.

    The size of a `tf.IndexedSlices` is that of its values and its indices.
    """
    sparse = [g for g in gradients if isinstance(g, tf.IndexedSlices)]
    dense = [g for g in gradients if not isinstance(g, tf.IndexedSlices)]
    return _bytes(dense), _bytes([part for g in sparse for part in (g.values, g.indices)])


def gathered_bytes(strategy, num_bytes):
    """Returns the sum of a number of bytes over all workers, each of which must call this."""
    total = tf.function(
        lambda own: strategy.reduce("SUM", strategy.run(tf.identity, args=(own,)), axis=None)
    )
    return int(total(tf.constant(num_bytes, "int64")))


def seconds_to_reduce(strategy, gradients, times, dtype=None):
    """Returns the median seconds in which all replicas sum the gradients, called by every worker.

    With `dtype`, dense gradients are cast to it before the sum, and back.
    """
    run = tf.function(lambda given: strategy.run(reduce_all, args=(given, dtype)), autograph=False)
    call = lambda: strategy.experimental_local_results(run(gradients))[0].numpy()  # noqa: E731
    return float(np.median(alternately({"sum": call}, times)["sum"]))


def reduce_all(gradients, dtype):
    """Sums the gradients over the replicas and returns 0.0 after all sums are computed."""
    # `tf.identity`, because the arguments of the function have no device.
    own = [cast(tf.identity(g), dtype or g.dtype) for g in gradients]
    sums = zip(sum_over_replicas(own), gradients, strict=True)
    sums = [cast(total, g.dtype) for total, g in sums]
    with tf.control_dependencies(tf.nest.flatten(sums, expand_composites=True)):
        return tf.zeros([])


def cast(gradient, dtype):
    """Casts a gradient to another type; returns `tf.IndexedSlices` unchanged.

    TensorFlow sums bfloat16 over workers, but it does not gather bfloat16.
    """
    return gradient if isinstance(gradient, tf.IndexedSlices) else tf.cast(gradient, dtype)


def _record(given, steps):
    def add(*tensors):
        steps.append(tf.nest.pack_sequence_as(given, tensors, expand_composites=True))

    tf.py_function(add, tf.nest.flatten(given, expand_composites=True), [])


def _bytes(tensors):
    return sum(int(np.prod(tensor.shape)) * tensor.dtype.size for tensor in tensors)
