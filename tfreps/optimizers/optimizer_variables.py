"""build_optimizer: creates the variables of a compiled model's optimizer."""

import keras


def build_optimizer(model: keras.Model) -> None:
    """Creates the variables of a compiled model's optimizer, unless it has them already.

    Keras's wrapper for float16, `LossScaleOptimizer`, would make some of its variables twice. An
    optimizer without variables is built by the first step of `fit`, which then traces the step
    twice.

    Args:
        model: a compiled Keras model.

    Example:
    >>> from tfreps.optimizers import FusedAdam
    >>> model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    >>> model.compile(FusedAdam())
    >>> build_optimizer(model)
    >>> len(model.optimizer.variables)  # steps, rate, and two moments of two weights
    6
    """
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
