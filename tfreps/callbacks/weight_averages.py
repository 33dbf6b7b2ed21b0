"""WeightAverages: a model is measured and kept with moving averages of its weights."""

import keras


class WeightAverages(keras.callbacks.Callback):
    """Measures and saves a model with moving averages of its weights, and trains its own.

        average = momentum * average + (1 - momentum) * weight        after every update

    What wobbles from one epoch to the next, the bias between two labels first of all, is evened
    out. The averages are those of `use_ema`, taken by the parts of a `GroupedOptimizer`, so that
    checkpoints hold them. (Where a model's optimizer itself takes them, Keras's `fit` writes them
    over the weights at its end, and trains on from there at the next call.)

    Args:
        save: function that saves a model. Its twin `WeightAverages.save`, which saves the averages,
            is what `BestModel` is given.

    Reference: Polyak and Juditsky, 1992, "Acceleration of stochastic approximation by averaging";
    as moving averages: Izmailov et al., 2018, and `keras.callbacks.SwapEMAWeights`, which knows
    one optimizer alone.

    Example:
    >>> import keras, numpy as np
    >>> from tfreps.callbacks import BestModel
    >>> from tfreps.optimizers import GroupedOptimizer
    >>> sgd = keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9)
    >>> model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    >>> model.compile(GroupedOptimizer(sgd, {}), "mse")
    >>> x, saved = np.ones([8, 2]), []
    >>> averages = WeightAverages(lambda model: saved.append(model.get_weights()[0]))
    >>> callbacks = [averages, BestModel(averages.save)]
    >>> given = {"validation_data": (x, x[:, :1]), "callbacks": callbacks, "verbose": 0}
    >>> _ = model.fit(x, x[:, :1], epochs=2, **given)
    >>> bool(np.any(saved[-1] != model.get_weights()[0]))
    True
    """

    def __init__(self, save):
        super().__init__()
        self.save_model, self.is_swapped = save, False

    def on_test_begin(self, logs=None):
        self._swap()

    def on_test_end(self, logs=None):
        self._swap()

    def save(self, model):
        """Saves the model with the averages in the place of its weights."""
        self._swap()
        try:
            self.save_model(model)
        finally:
            self._swap()

    def put_back(self):
        """Gives the model its own weights again, where measuring has ended early."""
        if self.is_swapped:
            self._swap()

    def _swap(self):
        self.is_swapped = not self.is_swapped
        for part in self.model.optimizer.optimizers:
            averages = part._model_variables_moving_average
            for weight, average in zip(part._trainable_variables, averages, strict=True):
                value = weight.numpy()
                weight.assign(average)
                average.assign(value)
