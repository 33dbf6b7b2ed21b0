"""WholeModel: methods of all models, for parts, inputs, presets, export and training."""

import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops.configurable import Configurable, inner_layers
from tfreps._src.models.model_exports import ExportMethods, written
from tfreps._src.models.model_parts import ModelParts
from tfreps._src.models.preset_methods import PresetMethods
from tfreps._src.models.replica_steps import ReplicaSteps


class WholeModel(PresetMethods, ExportMethods, ReplicaSteps, ModelParts, Configurable):
    """Mixin for `keras.Model` with the methods that all models of tfreps have.

    Example:
    >>> import tempfile
    >>> from tfreps.models import BertEncoder
    >>> bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
    >>> folder = tempfile.mkdtemp()
    >>> bert.export(folder, verbose=False)
    >>> loaded = tf.saved_model.load(folder)
    >>> loaded.serve({"token_ids": tf.constant([[2, 5, 3]])})["sequence_output"].shape
    TensorShape([1, 3, 8])
    """

    def __call__(self, *args, **kwargs):
        if args:
            _check_tensors(self, args[0])
        return super().__call__(*args, **kwargs)

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the output for all batches like `keras.Model.predict`, as NumPy arrays.

        The batches may have different lengths, which `keras.Model.predict` would return as a
        `tf.RaggedTensor`: here, outputs are padded to the longest batch with 0 or False. Each
        execution computes one batch, whatever the `steps_per_execution` of `compile` is.

        Args:
            x: The features, in a form that `keras.Model.predict` accepts.
            *args: Other arguments of `keras.Model.predict`.
            **kwargs: Keyword arguments of `keras.Model.predict`.

        Returns:
            The output of the model as NumPy arrays; for a tagger, the output of `tag`, and for a
            classifier, a dict with `labels` and `probabilities`.

        Raises:
            ValueError: If `x` consists of texts, tokens or lists, or is a `SequenceBatches`.
        """
        _check_fit_inputs(x)
        # In an execution of several steps, Keras would concatenate outputs of different lengths.
        steps, self.steps_per_execution = self.steps_per_execution, 1
        try:
            return tf.nest.map_structure(_padded, super().predict(x, *args, **kwargs))
        finally:
            self.steps_per_execution = steps

    def fit(self, x: Any = None, *args: Any, **kwargs: Any) -> keras.callbacks.History:
        """Trains the model; arguments and result are those of `keras.Model.fit`.

        Raises:
            ValueError: If `x` consists of texts, tokens or lists, or is a `SequenceBatches`.
        """
        _check_fit_inputs(x)
        return super().fit(x, *args, **kwargs)

    def evaluate(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Evaluates the model like `keras.Model.evaluate`, and returns floats, not tensors.

        The method of Keras 3.12 returns tensors.

        Raises:
            ValueError: If `x` consists of texts, tokens or lists, or is a `SequenceBatches`.
        """
        _check_fit_inputs(x)
        return tf.nest.map_structure(_as_float, super().evaluate(x, *args, **kwargs))

    def summary(
        self,
        line_length: int | None = None,
        positions: list[float] | None = None,
        print_fn: Callable[[str], object] | None = None,
        **kwargs: Any,
    ) -> None:
        """Prints a summary like `keras.Model.summary`, and the weights that are in no layer.

        Args:
            line_length: As in `keras.Model.summary`.
            positions: As in `keras.Model.summary`.
            print_fn: function of a str that prints it. If `None` (the default), it is `print`.
            **kwargs: Other arguments of `keras.Model.summary`.
        """
        super().summary(line_length, positions, print_fn, **kwargs)
        inside = {id(weight) for layer in self.layers for weight in layer.weights}
        own = [weight for weight in self.weights if id(weight) not in inside]
        if own:
            listed = ", ".join(f"{weight.name} {weight.shape}" for weight in own)
            count = sum(math.prod(weight.shape) for weight in own)
            (print_fn or print)(f" Params in none of these layers: {count:,} ({listed})")

    def quantize(self, *args: Any, **kwargs: Any) -> None:
        """Quantizes the layers that Keras can quantize; see `keras.Model.quantize`.

        Args:
            *args: Arguments of `keras.Model.quantize`.
            **kwargs: Keyword arguments of `keras.Model.quantize`.

        Raises:
            NotImplementedError: If Keras cannot quantize any layer of the model.
        """
        if not any(_can_quantize(layer) for _, layer in inner_layers(self)):
            raise NotImplementedError(
                f"{type(self).__name__} {self.name!r} has no layer to quantize. Keras quantizes "
                "Dense, EinsumDense and Embedding layers."
            )
        super().quantize(*args, **kwargs)


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
                "`np.array`."
            )


def _check_tensors(model, inputs):
    """Raises a ValueError if an input is not an array or tensor with rows of equal length."""
    for value in [None] if inputs is None else tf.nest.flatten(inputs):
        is_ragged = isinstance(value, tf.RaggedTensor)
        if is_ragged or not (hasattr(value, "shape") or value is None and inputs is not None):
            got = "a RaggedTensor" if is_ragged else f"{value!r} ({type(value).__name__})"
            wanted = written(model._input_signatures()[0])
            raise ValueError(
                f"{type(model).__name__} must be called on arrays or tensors, or on a dict of "
                f"them: {wanted}; got {got}. Convert lists with `np.array`, and pad ragged tensors "
                "with `to_tensor(0)`."
            )


def _padded(output):
    return output.to_tensor().numpy() if isinstance(output, tf.RaggedTensor) else output


def _as_float(value):
    return float(value) if tf.is_tensor(value) and value.shape.rank == 0 else value


def _can_quantize(layer):
    is_own = type(layer).quantize is not keras.layers.Layer.quantize
    return is_own and not isinstance(layer, keras.Model)
