"""assign_to_replicas: restores the variables of a model on all replicas of its strategy."""

from collections.abc import Iterable

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.layers.ops.replicas import own_rows, replica_number


def assign_to_replicas(
    model: keras.Model, variables: Iterable[keras.Variable], arrays: Iterable[np.ndarray]
) -> None:
    """Assigns arrays to variables, so that reading the variables returns the arrays.

    A variable of a metric, or of the carried states of a `BiLMPretrainer`, has one value on each
    replica, and reading the variable returns the sum of these values. Each replica therefore gets
    its own rows of the carried states, and 0 for the other rows. The first replica gets the values
    of the metrics, and the others get 0. The arrays may come from a run with a different number of
    replicas.
    """
    strategy = model.distribute_strategy
    pairs = list(zip(variables, arrays, strict=True))
    if strategy.num_replicas_in_sync == 1:
        for variable, array in pairs:
            variable.assign(array)
        return
    with_rows = {id(variable) for variable in getattr(model, "_row_variables", ())}
    summed = [pair for pair in pairs if pair[0].aggregation == "sum"]
    for variable, array in pairs:
        if variable.aggregation != "sum":
            variable.assign(array)

    def assign_own_part(values):
        for (variable, _), value in zip(summed, values, strict=True):
            if id(variable) in with_rows:
                rows = tf.range(value.shape[0])
                first, end = own_rows(value.shape[0])
                is_own = tf.reshape((rows >= first) & (rows < end), [-1] + [1] * (value.ndim - 1))
            else:
                is_own = tf.equal(replica_number(), 0)
            variable.assign(tf.where(is_own, value, tf.zeros_like(value)))

    values = [tf.cast(array, variable.dtype) for variable, array in summed]
    run = tf.function(lambda values: strategy.run(assign_own_part, (values,)), autograph=False)
    run(values)
