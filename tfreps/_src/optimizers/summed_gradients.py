"""apply_summed: one update of a model whose replicas have computed parts of the gradient.

Keras 3 clips the gradients of each replica before it sums them (`TFOptimizer.apply` calls
`_clip_gradients` before `_all_reduce_sum_gradients`; TensorFlow issue 33929 calls this order
wrong), so `global_clipnorm` has a different effect than on one device. Here the gradients are
summed first and clipped once. The tests compare the result with that of one device and fail if
Keras changes the private method that is replaced here.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops.replicas import num_replicas, sum_over_replicas

Gradient = tf.Tensor | tf.IndexedSlices


def apply_summed(
    optimizer: keras.optimizers.Optimizer,
    gradients: Sequence[Gradient | None],
    variables: Sequence[keras.Variable],
) -> None:
    """Sums gradients over the replicas of `tf.distribute`, then clips and applies the sums once.

    The optimizer may be a `GroupedOptimizer`, or a `LossScaleOptimizer` that wraps a
    `GroupedOptimizer`. Gradients are tensors, `tf.IndexedSlices` or `None`, one for each of
    `variables`.
    """
    apply_once(optimizer, sum_gradients(gradients), variables)


def apply_once(
    optimizer: keras.optimizers.Optimizer,
    gradients: Sequence[Gradient | None],
    variables: Sequence[keras.Variable],
) -> None:
    """Clips and applies gradients that are equal on all replicas, such as sums over replicas."""
    if num_replicas() > 1:
        for part in _all_parts(optimizer):
            # The method stays replaced in this optimizer, because replicas trace this code one
            # after another.
            part._all_reduce_sum_gradients = _as_given
    optimizer.apply(gradients, variables)


def sum_gradients(gradients: Sequence[Gradient | None]) -> Sequence[Gradient | None]:
    """Sums each gradient over all replicas, and returns the list of the sums.

    A gradient that is `None` remains `None`. A sum of `tf.IndexedSlices` contains each row only
    once, like a gradient that is computed on one device. Optimizers and norms would give different
    results if a row occurred twice.
    """
    if num_replicas() == 1:
        return gradients
    given = [gradient for gradient in gradients if gradient is not None]
    sums = iter(sum_over_replicas(given))
    return [None if gradient is None else with_distinct_rows(next(sums)) for gradient in gradients]


def with_distinct_rows(gradient: Gradient) -> Gradient:
    """Sums the rows of a sparse gradient that have the same index.

    Returns `tf.IndexedSlices` with distinct indices. A dense gradient is returned unchanged.
    """
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    indices, which = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, which, tf.size(indices))
    return tf.IndexedSlices(values, indices, gradient.dense_shape)


def _as_given(gradients_and_variables: Any) -> Any:
    return gradients_and_variables


def _all_parts(optimizer: keras.optimizers.Optimizer) -> Iterator[Any]:
    """Yields the optimizer and all optimizers that it contains."""
    yield optimizer
    inner = getattr(optimizer, "inner_optimizer", None)
    for part in getattr(optimizer, "optimizers", [] if inner is None else [inner]):
        yield from _all_parts(part)
