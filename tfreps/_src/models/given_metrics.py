"""GivenMetrics: the argument `metrics` of `compile` for taggers and classifiers."""

import types
from collections.abc import Sequence
from typing import Any

import keras


class GivenMetrics:
    """Mixin for a model that updates the metrics of `compile` itself, with its best outputs.

    A subclass has the dict `_own_metrics`, from the name of each of its own metrics to the metric.
    """

    # The metrics, and the argument of `compile`. It is no list or dict, whose metrics Keras would
    # keep after another call of `compile`.
    _given = types.SimpleNamespace(metrics=[], argument=[])

    def compile(
        self,
        optimizer: str | keras.Optimizer = "rmsprop",
        loss: None = None,
        loss_weights: None = None,
        metrics: Sequence[str | keras.Metric] | None = None,
        **kwargs: Any,
    ) -> None:
        """Configures the model for training, like `keras.Model.compile`.

        Args:
            optimizer: str or `keras.optimizers.Optimizer`. Defaults to `"rmsprop"`.
            loss, loss_weights: Must be `None`, because the model computes its loss itself.
            metrics: list of Keras metrics, functions or names, which training and evaluation log;
                the docstring of the model describes their arguments. Metrics that the model has
                itself are given by name, such as `"accuracy"`. If `None` (the default), there are
                no further metrics.
            **kwargs: Other arguments of `keras.Model.compile`.

        Raises:
            ValueError: If an option does not apply to the model.
        """
        if isinstance(metrics, dict):  # of the outputs of `call`, which Keras computes
            kwargs["metrics"], metrics = metrics, None
        given = [self._metric(metric) for metric in metrics or ()]
        super().compile(optimizer, loss, loss_weights, **kwargs)  # pyright: ignore
        self._given = types.SimpleNamespace(metrics=given, argument=list(metrics or ()))

    @property
    def _given_metrics(self) -> list[keras.Metric]:
        """Metrics that were passed to `compile`."""
        return self._given.metrics

    @property
    def metrics(self) -> list[keras.Metric]:
        """Metrics of the model, including those that were passed to `compile`."""
        own = super().metrics  # pyright: ignore[reportAttributeAccessIssue]
        return [*own, *(metric for metric in self._given_metrics if metric not in own)]

    def _metric(self, metric):
        own = self._own_metrics  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(metric, str) and metric in own:
            return own[metric]
        try:
            found = keras.metrics.get(metric)
        except ValueError as error:
            names = ", ".join(map(repr, own))
            raise ValueError(
                f"`metrics` must contain Keras metrics, functions, names of Keras metrics, or "
                f"names of metrics of the model, which are {names}; got {metric!r}."
            ) from error
        self._check_metric(found)
        if not isinstance(found, keras.Metric):
            found = keras.metrics.MeanMetricWrapper(found, name=found.__name__)
        if found.name in own:
            raise ValueError(
                f"`metrics` must have other names than the metrics of the model; got one with the "
                f"name {found.name!r}. Choose another `name`, or pass the str {found.name!r} for "
                "the metric of the model."
            )
        return found

    def _check_metric(self, metric: Any) -> None:
        """Raises a ValueError for a Keras metric that does not fit the outputs of the model."""

    def get_compile_config(self) -> dict[str, Any] | None:
        """Returns the arguments of `compile` as a dict that `compile_from_config` accepts."""
        config = super().get_compile_config()  # pyright: ignore[reportAttributeAccessIssue]
        if config is None or not self._given_metrics:
            return config
        return {**config, "metrics": keras.saving.serialize_keras_object(self._given.argument)}
