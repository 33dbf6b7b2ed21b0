"""shared_function: traces a computation once for all of its calls in a graph."""

import weakref

import tensorflow as tf

_TRACED = weakref.WeakKeyDictionary()  # graph -> dict from keys to traced functions


def shared_function(function, key=None):
    """Returns a function that is traced once per graph, however often the graph calls it.

    Tracing takes about 0.3 ms per operation, which is most of the time until a model gives its
    first answer. A computation that a model repeats, such as an LSTM layer, is therefore traced at
    its first call, and later calls refer to it. TensorFlow inserts the computation at each call
    before it runs or optimizes the graph, so that the graph that runs, its speed and its results
    are the same. Outside of a graph, `function` itself is returned.

    Args:
        function: function of tensors or `None`, which may return nested tuples of tensors. It must
            not use other tensors or create variables.
        key: hashable object. Functions with the same key must do the same with their inputs. If
            `None`, the function is the key. Defaults to `None`.

    Returns:
        function with the inputs and outputs of `function`.

    Example:
    >>> @tf.function
    ... def add_twice(x):
    ...     add = shared_function(lambda x: x + 1.0, "add one")
    ...     return add(add(x))
    >>> add_twice(tf.constant(1.0)).numpy()
    np.float32(3.0)
    """
    if tf.executing_eagerly():
        return function
    functions = _TRACED.setdefault(tf.compat.v1.get_default_graph(), {})
    key = function if key is None else key
    if key not in functions:
        functions[key] = tf.function(function, autograph=False)
    return functions[key]
