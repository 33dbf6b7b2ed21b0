"""WeightAverages: evaluates and saves a model with moving averages of its weights."""

from collections.abc import Callable

import keras

from tfreps._src.callbacks.step_logs import Logs


class WeightAverages(keras.callbacks.Callback):
    """Callback that evaluates and saves a model with moving averages of its weights.

        average = momentum * average + (1 - momentum) * weight        after every update

    Training continues with the weights themselves. Averaging reduces fluctuations between epochs,
    for example in how often a binary classifier predicts each label. The optimizer of the model
    must be a `GroupedOptimizer`, and every optimizer in it must have `use_ema=True`. The averages
    are variables of these optimizers, so checkpoints contain the averages. If the optimizer of the
    model were a plain Keras optimizer with `use_ema=True`, Keras would overwrite the weights with
    the averages at the end of `fit`, and the next `fit` would continue from the averages.

    Args:
        save: Callable that takes the model and saves it. Pass the method
            `WeightAverages.save` to `BestModel`; it saves the model with the averages.

    Reference: Polyak and Juditsky, 1992, "Acceleration of stochastic approximation by averaging";
    for neural networks: Izmailov et al., 2018. `keras.callbacks.SwapEMAWeights` supports only
    a single optimizer.

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

    def __init__(self, save: Callable[[keras.Model], object]) -> None:
        super().__init__()
        self._save_model, self._is_swapped = save, False

    def on_test_begin(self, logs: Logs | None = None) -> None:
        self._swap()

    def on_test_end(self, logs: Logs | None = None) -> None:
        self._swap()

    def save(self, model: keras.Model) -> None:
        """Saves the model with the averages instead of its weights.

        Args:
            model: `keras.Model` that is being trained.
        """
        self._swap()
        try:
            self._save_model(model)
        finally:
            self._swap()

    def restore_weights(self) -> None:
        """Restores the model's own weights if an evaluation ended early."""
        if self._is_swapped:
            self._swap()

    def _swap(self) -> None:
        self._is_swapped = not self._is_swapped
        for part in self.model.optimizer.optimizers:
            averages = part._model_variables_moving_average
            for weight, average in zip(part._trainable_variables, averages, strict=True):
                value = weight.numpy()
                weight.assign(average)
                average.assign(value)
