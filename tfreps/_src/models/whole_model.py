"""WholeModel: methods of all models, for parts, inputs, presets, export and training."""

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

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the output for all batches like `keras.Model.predict`, as NumPy arrays.

        The batches may have different lengths, which `keras.Model.predict` would return as a
        `tf.RaggedTensor`: here, outputs are padded to the longest batch with 0 or False.

        Args:
            *args: Arguments of `keras.Model.predict`.
            **kwargs: Keyword arguments of `keras.Model.predict`.

        Returns:
            The output of the model (for a tagger, of `tag`) as NumPy arrays.
        """
        return tf.nest.map_structure(_padded, super().predict(*args, **kwargs))

    def fit(self, x: Any = None, *args: Any, **kwargs: Any) -> keras.callbacks.History:
        """Trains the model like `keras.Model.fit`.

        Raises:
            ValueError: If `x` consists of texts or tokens, or is a `SequenceBatches`.
        """
        _check_fit_inputs(x)
        return super().fit(x, *args, **kwargs)

    def evaluate(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Evaluates the model like `keras.Model.evaluate`, but always returns floats.

        The method of Keras 3.12 returns tensors.

        Raises:
            ValueError: If `x` consists of texts or tokens, or is a `SequenceBatches`.
        """
        _check_fit_inputs(x)
        return tf.nest.map_structure(_as_float, super().evaluate(x, *args, **kwargs))

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
    """Raises a ValueError for text, lists and a `SequenceBatches`, which Keras rejects vaguely."""
    if callable(getattr(x, "dataset", None)):
        kind = type(x).__name__
        raise ValueError(f"`x` must be a tf.data.Dataset; got a {kind}. Pass its `dataset()`.")
    is_list = isinstance(x, list | tuple) and x and not hasattr(x[0], "shape")
    is_text = getattr(getattr(x, "dtype", None), "kind", "") in ("O", "S", "U")
    if is_list or is_text or isinstance(x, str):
        kind = f"{type(x).__name__} of {type(x[0]).__name__}" if is_list else type(x).__name__
        raise ValueError(
            "`x` must be an array or tensor of features, a dict of them, or a tf.data.Dataset; got "
            f"a {kind}. Convert tokens with "
            "`tfreps.data.SequenceBatches(tokens, targets, indexer).dataset()`."
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
