"""OwnLossModel: base of the models that compute their loss and metrics themselves."""

import inspect
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops.masks import checked_targets
from tfreps._src.layers.ops.replicas import num_replicas, sum_over_replicas
from tfreps._src.models.whole_model import WholeModel

METRICS = "metrics", "weighted_metrics"
BATCH_WEIGHT = "batch_weight"  # name of a feature that `tfreps.data.SequenceBatches` adds
_LOSS = "The model computes its loss itself: call `compile(optimizer)`."
_METRICS = (
    "The model logs its metrics itself: omit the argument, and compute other metrics from the "
    "output of `predict` or of the model."
)
_IN_FEATURES = "The targets and their weights are part of the features."


class OwnLossModel(WholeModel):
    """Mixin for models that compute their loss and metrics themselves.

    Arguments of `compile`, `fit`, `evaluate` and `train_on_batch` that such a model would ignore or
    misread raise a ValueError that says what to do instead.
    """

    # Argument of a Keras method that must be None -> end of the error message: reason and remedy.
    _unused_arguments = {
        **dict.fromkeys(("loss", "loss_weights"), _LOSS),
        **dict.fromkeys(METRICS, _METRICS),
    }

    def compile(
        self, optimizer: str | keras.Optimizer = "rmsprop", *args: Any, **kwargs: Any
    ) -> None:
        """Configures the model for training, like `keras.Model.compile`.

        Args:
            optimizer: str or `keras.optimizers.Optimizer`. Defaults to `"rmsprop"`.
            *args: Arguments of `keras.Model.compile`. The loss and metrics must be `None`, except
                that a `Classifier` accepts metrics as a dict, such as `{"logits": "accuracy"}`.
            **kwargs: Keyword arguments of `keras.Model.compile`.

        Raises:
            ValueError: If an option does not apply to the model.
        """
        self._check_arguments("compile", optimizer, *args, **kwargs)
        super().compile(optimizer, *args, **kwargs)

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles a loaded model, which Keras does only for models without their own `compile`."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def fit(
        self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any
    ) -> keras.callbacks.History:
        """Trains the model; arguments and result are those of `keras.Model.fit`.

        Raises:
            ValueError: If an argument does not apply to the model, `x` consists of texts, tokens or
                lists or is a `SequenceBatches`, or `y` is a list or contains names.
        """
        self._check_arguments("fit", x, y, *args, **kwargs)
        try:
            return super().fit(x, y, *args, **kwargs)
        except ValueError:
            # The traced graph is for the invalid `y`, so a later call needs a new graph.
            self.train_function = None
            raise

    def evaluate(self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Evaluates the model like `keras.Model.evaluate`, and returns floats, not tensors.

        Raises:
            ValueError: If an argument does not apply to the model, `x` consists of texts, tokens or
                lists or is a `SequenceBatches`, or `y` is a list or contains names.
        """
        self._check_arguments("evaluate", x, y, *args, **kwargs)
        return super().evaluate(x, y, *args, **kwargs)

    def train_on_batch(self, *args: Any, **kwargs: Any) -> Any:
        """Trains the model on one batch like `keras.Model.train_on_batch`.

        Raises:
            ValueError: If an argument does not apply to the model, or `y` is a list or contains
                names.
        """
        self._check_arguments("train_on_batch", *args, **kwargs)
        return super().train_on_batch(*args, **kwargs)

    def _check_arguments(self, method, *args, **kwargs):
        signature = inspect.signature(getattr(keras.Model, method))
        given = signature.bind_partial(self, *args, **kwargs).arguments
        _check_numbers(given.get("y"))
        self._check_unused(given)

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


# Value of `_unused_arguments` for models whose targets are part of the features.
TARGETS_IN_FEATURES = {
    **OwnLossModel._unused_arguments,
    "sample_weight": _IN_FEATURES,
    "class_weight": _IN_FEATURES,
}


def features_of(data, model):
    """Returns the features of a batch. Raises a ValueError if the batch has `y` or weights."""
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
    if y is not None or sample_weight is not None:
        raise ValueError(
            f"A batch for a {type(model).__name__} must be a dict of features without `y` and "
            f"`sample_weight`; got a batch with them. {_IN_FEATURES}"
        )
    return x


def checked_y(y, shape, axes, num_classes, mask=None):
    """Returns `y` as int32, 0 where masked, after checking its shape and range.

    `axes` is the expected shape in the error message, such as `"[B, T]"`.
    """
    is_ragged = isinstance(y, tf.RaggedTensor)
    y = y if is_ragged or y is None else tf.convert_to_tensor(y)
    if y is None or is_ragged or y.dtype == tf.string or not y.shape.is_compatible_with(shape):
        kind = "ragged " if is_ragged else ""
        got = y if y is None else f"{kind}{y.dtype.name} of shape {y.shape}"
        raise ValueError(
            f"`y` must be integer ids of shape {axes}, here {shape}; got {got}. Replace names by "
            "their ids, pad ragged ids with `y.to_tensor(0)`, remove a last axis of size 1 with "
            "`y[..., 0]`, and convert one-hot rows with `np.argmax(y, -1)`."
        )
    return checked_targets("y", y, num_classes, mask)


class SentenceLossModel(OwnLossModel):
    """Mixin for models with a `SentenceLoss`, whose result is the `loss` in the logs."""

    @property
    def metrics_names(self) -> list[str]:
        """Names of the numbers that `evaluate` returns, in this order."""
        return [name for name in super().metrics_names if name != self.sentence_loss.name]

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        results = super().compute_metrics(x, y, y_pred, sample_weight)
        results["loss"] = results.pop(self.sentence_loss.name)
        return results

    def get_metrics_result(self) -> dict[str, tf.Tensor]:
        results = super().get_metrics_result()
        return {**results, "loss": results.pop(self.sentence_loss.name)}

    def _with_penalty(self, loss, rows, x, logged=None):
        """Updates the logged loss, and returns this replica's part of the loss with penalties.

        Args:
            loss: float32 scalar. Mean loss of the rows of this replica, without penalties.
            rows: int. Number of rows of this replica.
            x: The features of the batch.
            logged: tuple `(mean loss, number)` of the rows that the logs include. If `None` (the
                default), the logs include all rows.

        Returns:
            float32 scalar. The sum over all replicas is the loss of the global batch.
        """
        penalty = sum(tf.cast(term, "float32") for term in self.losses)
        batch_weight = x.get(BATCH_WEIGHT) if isinstance(x, dict) else None
        part, *logged = over_replicas(loss, rows, logged or (loss, rows), batch_weight)
        self.sentence_loss.update_state(*logged, penalty)
        return part + penalty / num_replicas()


def mean_of_rows(losses):
    """Returns the mean of the losses `[B]`, 0 if there are none.

    A replica has no rows if the last batch of an epoch has fewer rows than there are replicas.
    """
    count = tf.cast(tf.maximum(tf.size(losses), 1), losses.dtype)
    return tf.reduce_sum(losses) / count


def over_replicas(loss, rows, logged, batch_weight=None):
    """Returns this replica's part of the loss, and arguments for `SentenceLoss.update_state`.

    Args:
        loss: float32 scalar. Mean loss of the rows of this replica.
        rows: int. Number of rows of this replica.
        logged: tuple `(mean loss, number)` of the rows of this replica that the logs include.
        batch_weight: float32. Weights of the rows of this replica, or `None`.

    Returns:
        Tuple of four values:

        - `loss * rows / (rows of all replicas)`. The sum over all replicas is the mean loss.
        - The mean loss of the logged rows of all replicas.
        - The number of logged rows of this replica.
        - The mean of `batch_weight` over all replicas, `[1]`, or `None`.

        With one replica, the tuple is `(loss, *logged, batch_weight)`.
    """
    if num_replicas() == 1:
        return loss, *logged, batch_weight
    rows = tf.cast(rows, "float32")
    mean, count = logged[0], tf.cast(logged[1], "float32")
    weights = rows if batch_weight is None else tf.reduce_sum(batch_weight)
    sums = sum_over_replicas(tf.stop_gradient(tf.stack([rows, count, count * mean, weights])))
    all_rows, all_counted, loss_sum, weight_sum = tf.unstack(sums)
    all_rows = tf.maximum(all_rows, 1.0)
    mean_weight = None if batch_weight is None else (weight_sum / all_rows)[None]
    return loss * rows / all_rows, loss_sum / tf.maximum(all_counted, 1.0), count, mean_weight
