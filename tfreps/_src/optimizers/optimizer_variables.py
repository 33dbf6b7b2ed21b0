"""build_optimizer: creates the variables of a compiled model's optimizer."""

import keras


def build_optimizer(model: keras.Model) -> None:
    """Creates the variables of a compiled model's optimizer if they do not exist yet.

    An optimizer that is not built before `fit` is built in the first training step, and `fit` then
    traces the step twice. An optimizer that is already built is left unchanged, because building it
    again would duplicate some variables of `LossScaleOptimizer`, Keras's wrapper for float16.

    Args:
        model: `keras.Model`. A model that is built and compiled.

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
