"""TrainingMethods: `compile`, `fit`, `evaluate` and `predict` of all models, on any devices."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.layers.ops.replicas import num_replicas, sum_over_replicas
from tfreps._src.metrics.sentence_loss import SentenceLoss
from tfreps._src.optimizers.summed_gradients import apply_summed


class TrainingMethods:
    """Mixin for `keras.Model` with the methods for training and evaluation.

    Arguments that a model would ignore or misread raise a ValueError that says what to do instead.
    Under a strategy of `tf.distribute`, losses, metrics and updates are the same as if one device
    processed the whole batch. To achieve this, `_maybe_symbolic_build` and
    `_get_metrics_result_or_logs` override private methods of Keras 3.15, because Keras has no
    public methods for it.
    """

    # Function from raw texts, str `[B]`, to features, with which `fit`, `evaluate` and `predict`
    # also take raw texts.
    preprocessor: Callable[[tf.Tensor], Any] | None = None
    # For models that compute their loss and metrics themselves: arguments of Keras methods that
    # must be None -> end of the error message: reason and remedy.
    _unused_arguments: Mapping[str, str] = {}
    # Names of the features that all replicas share, because they have no axis of rows, and the
    # variables of the seeds that have the same value on all replicas.
    _shared_features = ()
    _common_seeds = ()

    def compile(
        self, optimizer: str | keras.Optimizer = "rmsprop", *args: Any, **kwargs: Any
    ) -> None:
        """Configures the model for training, like `keras.Model.compile`.

        Args:
            optimizer: str or `keras.optimizers.Optimizer`. Defaults to `"rmsprop"`.
            *args: Arguments of `keras.Model.compile`. For a model that computes its loss itself,
                the loss and metrics must be `None`, except that a `Classifier` accepts metrics as a
                dict, such as `{"logits": "accuracy"}`.
            **kwargs: Keyword arguments of `keras.Model.compile`.

        Raises:
            ValueError: If an option does not apply to the model.
        """
        self._check_arguments("compile", optimizer, *args, **kwargs)
        super().compile(optimizer, *args, **kwargs)

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles a loaded model, which Keras does only for models without their own `compile`."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.built:
            self.optimizer.build(self.trainable_variables)

    def fit(
        self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any
    ) -> keras.callbacks.History:
        """Trains the model; arguments and result are those of `keras.Model.fit`.

        The model of an object that `tfreps.load` returns, and a model of `from_preset` with a new
        head, has an attribute `preprocessor`, a function from raw texts to features. `x` can then
        be a list or array of N str, or a `tf.data.Dataset` of batches of str; `validation_data`,
        too. A list is padded to its longest text, and each batch of a data set to its own.

        Raises:
            ValueError: If an argument does not apply to the model, or `x` consists of texts, tokens
                or lists or is a `SequenceBatches`, except for texts if there is a `preprocessor`.
                Also if `y` is a list or contains names, for a model that computes its loss itself.
        """
        x = self._features_of(x)
        validation = kwargs.get("validation_data")
        if isinstance(validation, tuple | list):
            kwargs["validation_data"] = self._features_of(validation[0]), *validation[1:]
        elif validation is not None:
            kwargs["validation_data"] = self._features_of(validation)
        self._check_arguments("fit", x, y, *args, **kwargs)
        try:
            return super().fit(x, y, *args, **kwargs)
        except ValueError:
            # The traced graph is for the invalid `y`, so a later call needs a new graph.
            self.train_function = None
            raise

    def evaluate(self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Evaluates the model like `keras.Model.evaluate`, and returns floats, not tensors.

        The method of Keras 3.12 returns tensors.

        Raises:
            ValueError: If `fit` rejects the arguments.
        """
        x = self._features_of(x)
        self._check_arguments("evaluate", x, y, *args, **kwargs)
        return tf.nest.map_structure(_as_float, super().evaluate(x, y, *args, **kwargs))

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the output for all batches like `keras.Model.predict`, as NumPy arrays.

        The batches may have different lengths, which `keras.Model.predict` would return as a
        `tf.RaggedTensor`: here, outputs are padded to the longest batch with 0 or False. Each
        execution computes one batch, whatever the `steps_per_execution` of `compile` is.

        Args:
            x: The features, in a form that `keras.Model.predict` accepts, or raw texts, as in
                `fit`.
            *args: Other arguments of `keras.Model.predict`.
            **kwargs: Keyword arguments of `keras.Model.predict`.

        Returns:
            The output of the model as NumPy arrays; for a tagger, the output of `tag`, and for a
            classifier, a dict with `labels` and `probabilities`.

        Raises:
            ValueError: If `fit` rejects `x`.
        """
        x = self._features_of(x)
        _check_fit_inputs(x)
        # In an execution of several steps, Keras would concatenate outputs of different lengths.
        steps, self.steps_per_execution = self.steps_per_execution, 1
        try:
            return tf.nest.map_structure(_padded, super().predict(x, *args, **kwargs))
        finally:
            self.steps_per_execution = steps

    def train_on_batch(self, *args: Any, **kwargs: Any) -> Any:
        """Trains the model on one batch like `keras.Model.train_on_batch`.

        Raises:
            ValueError: If `fit` rejects the arguments.
        """
        self._check_arguments("train_on_batch", *args, **kwargs)
        return super().train_on_batch(*args, **kwargs)

    def _features_of(self, x):
        """Returns the features of raw texts, or of a data set of them; other inputs stay as is."""
        preprocess = self.preprocessor
        if preprocess is None:
            return x
        if isinstance(x, tf.data.Dataset):
            spec = x.element_spec
            if _are_texts(spec):
                return x.map(preprocess, tf.data.AUTOTUNE)
            if isinstance(spec, tuple) and _are_texts(spec[0]):
                return x.map(lambda texts, *rest: (preprocess(texts), *rest), tf.data.AUTOTUNE)
            return x
        if isinstance(x, list | tuple) and x and all(isinstance(text, str) for text in x):
            x = np.array(x, object)
        if not _are_texts(x):
            return x
        features = preprocess(tf.constant(x, "string"))
        return {name: value.numpy() for name, value in features.items()}

    @property
    def metrics(self) -> list[keras.Metric]:
        """Metrics of the model. A `SentenceLoss` replaces the `loss` that Keras would log."""
        found = super().metrics
        if not any(isinstance(metric, SentenceLoss) for metric in found):
            return found
        return [m for m in found if isinstance(m, SentenceLoss) or m.name != "loss"]

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Runs one training step like `keras.Model.train_step`, with any number of replicas.

        On the replicas of a strategy, the gradients are summed and then clipped once.
        """
        if num_replicas() == 1:
            return super().train_step(data)
        variables = self.trainable_variables
        with tf.GradientTape() as tape:
            loss, metrics = self._loss_of(data, training=True)
            scaled = self.optimizer.scale_loss(loss)
        apply_summed(self.optimizer, tape.gradient(scaled, variables), variables)
        return metrics()

    def test_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Runs one evaluation step like `keras.Model.test_step`, with any number of replicas."""
        if num_replicas() == 1:
            return super().test_step(data)
        return self._loss_of(data, training=False)[1]()

    def _loss_of(self, data, training):
        """Returns this replica's part of the loss, and a function that computes the metrics."""
        x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
        given = {"x": x, "y": y, "y_pred": self(x, training=training), "sample_weight": weight}
        loss = self.compute_loss(**given, training=training)
        # Keras would log this part times the number of replicas, which is wrong for unequal parts.
        total = sum_over_replicas(tf.stop_gradient(loss))
        tracker = next(metric for metric in self.metrics if metric.name == "loss")
        if not isinstance(tracker, SentenceLoss):  # which `compute_loss` has already updated
            tracker.update_state(total, sample_weight=tf.shape(tf.nest.flatten(x)[0])[0])
        return loss, lambda: self.compute_metrics(**given)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Creates the variables of losses and metrics under a strategy, like Keras's method.

        Keras 3.15 averages the batches of all replicas for this, which fails for booleans and, with
        several workers, for every batch (keras issue 20585). This method uses the batch of one
        replica instead.
        """
        if self._distribute_strategy is not None and iterator is not None:
            _, _, batches = next(iter(iterator))
            local = self._distribute_strategy.experimental_local_results
            data_batch = tf.nest.map_structure(lambda value: local(value)[0], next(batches))
        super()._maybe_symbolic_build(data_batch=data_batch)

    def _get_metrics_result_or_logs(self, logs):
        """Returns a dict of the metrics over all replicas; Keras would average over replicas."""
        if self.distribute_strategy.num_replicas_in_sync == 1:
            return super()._get_metrics_result_or_logs(logs)
        results = self.get_metrics_result()
        return {name: results.get(name, value) for name, value in logs.items()}

    def _check_arguments(self, method, *args, **kwargs):
        signature = inspect.signature(getattr(keras.Model, method))
        given = signature.bind_partial(self, *args, **kwargs).arguments
        if self._unused_arguments:
            _check_numbers(given.get("y"))
            self._check_unused(given)
        _check_fit_inputs(given.get("x"))

    def _check_unused(self, given):
        for name, reason in self._unused_arguments.items():
            if given.get(name) is not None:
                raise ValueError(
                    f"`{name}` must be None for a {type(self).__name__}; got {given[name]!r}. "
                    f"{reason}"
                )


def _check_numbers(y):
    """Raises a ValueError if `y` is a list or an array of str, bytes or objects."""
    # Kind of a NumPy dtype, such as "U" for str.
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    if kind in ("U", "S", "O") or isinstance(y, list):
        got = next(iter(y), None)
        raise ValueError(
            f"`y` must be an array of integer ids; got {type(y).__name__}, whose first item is "
            f"{got!r}. Replace names by their positions in the list of tags or labels, pad lists "
            "of different lengths, and convert the result with `np.array`."
        )


def _check_fit_inputs(x):
    """Raises a ValueError if `x` is text, lists or a `SequenceBatches`.

    The errors of Keras for them do not say what to do.
    """
    if callable(getattr(x, "dataset", None)):
        kind = type(x).__name__
        raise ValueError(f"`x` must be a tf.data.Dataset; got a {kind}. Pass its `dataset()`.")
    for value in x.values() if isinstance(x, dict) else [x]:
        is_list = isinstance(value, list | tuple) and not (value and hasattr(value[0], "shape"))
        is_text = getattr(getattr(value, "dtype", None), "kind", "") in ("O", "S", "U")
        if is_list or is_text or isinstance(value, str):
            kind = type(value).__name__
            kind += f" of {type(value[0]).__name__}" if is_list and value else ""
            raise ValueError(
                "`x` must be an array or tensor of features, a dict of them, or a "
                f"tf.data.Dataset; got a {kind}. Convert tokens with `tfreps.data.SequenceBatches("
                "tokens, targets, indexer).dataset()`, and lists of ids of the same length with "
                "`np.array`. Raw texts need a model with a `preprocessor`, such as "
                "`tfreps.load(source).model`."
            )


def _are_texts(x):
    """Returns True for an array, a tensor or a spec of str `[N]`."""
    if tf.TensorShape(getattr(x, "shape", None)).rank != 1:
        return False
    kind = getattr(x.dtype, "kind", "S" if x.dtype == tf.string else "")
    return kind in ("U", "S") or kind == "O" and all(isinstance(text, str | bytes) for text in x)


def _padded(output):
    return output.to_tensor().numpy() if isinstance(output, tf.RaggedTensor) else output


def _as_float(value):
    return float(value) if tf.is_tensor(value) and value.shape.rank == 0 else value
