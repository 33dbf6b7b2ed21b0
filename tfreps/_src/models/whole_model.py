"""WholeModel: methods of all models, for parts, inputs, presets and export."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import keras
import tensorflow as tf

from tfreps._src.layers.ops.configurable import Configurable, argument_names, inner_layers
from tfreps._src.models.keras_encoder import inputs_of
from tfreps._src.models.model_exports import (
    check_keeps_no_state,
    export_saved_model,
    tensor_spec,
    written,
)
from tfreps._src.models.preset_methods import PresetMethods
from tfreps._src.models.training_methods import TrainingMethods

Part = TypeVar("Part")


class WholeModel(PresetMethods, TrainingMethods, Configurable):
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

    # Numbers of tokens to the left and right of a token that its output depends on. `None` if
    # they are unlimited or unknown.
    _window: tuple[int, int] | None = None

    def __call__(self, *args, **kwargs):
        if args:
            _check_tensors(self, args[0])
        return super().__call__(*args, **kwargs)

    @property
    def trainable(self) -> bool:
        """True if the model is trainable.

        Setting this property changes all layers, but parts that are frozen by an option of the
        model stay frozen.
        """
        return super().trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        keras.Model.trainable.fset(self, value)
        if value and self.built:
            for part in self._frozen_by_options():
                part.trainable = False

    def parts(self) -> dict[str, keras.layers.Layer]:
        """Returns the models and layers that were passed to the constructor.

        Returns:
            dict from the name of an argument to its model or layer, in the order of the arguments.

        Example:
        >>> from tfreps.models import BiLSTMEncoder, Tagger, TokenEmbedder
        >>> tagger = Tagger(BiLSTMEncoder(TokenEmbedder(vocabulary_size=9), units=4), ["O", "X"])
        >>> list(tagger.parts()), list(tagger.encoder.parts())
        (['encoder'], ['embedder'])
        """
        values = {name: vars(self).get(name) for name in argument_names(type(self))}
        return {n: value for n, value in values.items() if isinstance(value, keras.layers.Layer)}

    def _all_parts(self) -> Iterator[Any]:
        """Yields the model itself and all tfreps models inside it, outer models first."""
        yield self
        for part in self.parts().values():
            if isinstance(part, WholeModel):
                yield from part._all_parts()

    def find(self, *classes: type[Part]) -> Part | None:
        """Returns the first part of the model that is an instance of one of the classes.

        Args:
            *classes: Model classes of tfreps.

        Returns:
            The model itself or one of its parts, or `None` if none of them is such an instance.

        Example:
        >>> from tfreps.models import BertEncoder, BertPretrainer, TokenEmbedder
        >>> bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
        >>> BertPretrainer(bert).find(BertEncoder) is bert, bert.find(TokenEmbedder)
        (True, None)
        """
        return next((part for part in self._all_parts() if isinstance(part, classes)), None)

    def export(
        self,
        filepath: str | os.PathLike[str],
        format: str = "tf_saved_model",
        verbose: bool | None = None,
        input_signature: Sequence | None = None,
        **kwargs: Any,
    ) -> None:
        """Exports the model for inference, like `keras.Model.export`, also before the first call.

        The SavedModel has one function, `serve`, which returns the outputs of the model with
        `training=False`; for a tagger, those of `tag`. Loaded with `tf.saved_model.load` or
        `keras.layers.TFSMLayer`, it accepts every form of input that the model accepts. For
        servers, the signatures `serve` and `serving_default` accept only the form that
        contains the required inputs. In these signatures, an output that is a list or tuple
        becomes one output per item, `name_0`, `name_1` and so on.

        Args:
            filepath: str. Folder of the SavedModel. An existing SavedModel is replaced.
            format: str. `"tf_saved_model"` or another export format of Keras, except `"onnx"` and
                `"litert"`, which `tfreps.export.write_model` writes. Defaults to
                `"tf_saved_model"`.
            verbose: bool. Whether to print the path and the inputs. If `None` (the default), they
                are printed.
            input_signature: list with a structure of `tf.TensorSpec` or `keras.InputSpec` for each
                argument of `call`. If `None` (the default), the model specifies it.
            **kwargs: Options of the other formats.

        Raises:
            ValueError: If the format is unknown, if an option does not apply to
                `"tf_saved_model"`, if the model or a part of it carries states between calls, or
                if `input_signature` is `None` and a part does not specify its inputs.
        """
        check_keeps_no_state(self)
        if input_signature is None:
            signatures = [[specs] for specs in self._input_signatures()]
        else:
            signatures = [tf.nest.map_structure(tensor_spec, list(input_signature))]
        if format in ("onnx", "litert"):
            raise ValueError(
                f"The format {format!r} is written by another function: call `tfreps.export."
                f"write_model(model, {str(filepath)!r}, {format!r})` or, for a model that reads "
                "text, `tfreps.export.write_portable_export`."
            )
        if format != "tf_saved_model":
            kwargs["input_signature"] = signatures[0]
            return super().export(filepath, format=format, verbose=verbose, **kwargs)
        if kwargs:
            raise ValueError(
                f"The format 'tf_saved_model' does not support the options {sorted(kwargs)}. Omit "
                "them, or pass a different `format`."
            )
        export_saved_model(self, str(filepath), signatures, verbose)

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

    def _served(self, *inputs):
        """Computes the outputs of the exported function `serve`.

        For a tagger, these are the outputs of its method `tag`.
        """
        return self(*inputs)

    def _input_signatures(self):
        """Returns the specs of all inputs that the model accepts, for any batch size and length.

        By default, each input is a dict with the features that the parts of the model read. If the
        model has a single part whose first form of input is not a dict, the inputs of the model
        are those of this part.

        Returns:
            list with one item for each form of the input: a `tf.TensorSpec`, or a dict of them. The
            first item contains only what is required. The other items add optional features or
            have another form, such as a tensor instead of a dict.

        Raises:
            ValueError: If a part has no `_input_signatures`.
        """
        found = [{}]
        parts = self.parts().values()
        for part in parts:
            signatures = _signatures_of(part)
            if len(parts) == 1 and not isinstance(signatures[0], dict):
                return signatures
            read = [specs for specs in signatures if isinstance(specs, dict)]
            found = [{**one, **other} for one in found for other in read]
        return list({frozenset(specs): specs for specs in found}.values())

    @property
    def _num_tokens(self):
        """Vocabulary size of the model or of its first part that has one, or `None`."""
        sizes = (part._own_num_tokens for part in self._all_parts())
        return next((size for size in sizes if size is not None), None)

    @property
    def _own_num_tokens(self):
        """Size of the `Vocabulary` of the model itself, without its parts, or `None`."""
        return vars(self).get("vocabulary_size")

    @property
    def _num_characters(self):
        """Number of character ids per token; `None` if the model does not read `character_ids`."""
        spec = self._required("character_ids")
        return None if spec is None else spec.shape[-1]

    @property
    def _reads_vectors(self):
        """True if the model reads `vectors`, which `tfreps embed` computes in advance."""
        return self._required("vectors") is not None

    @property
    def _carries_state(self):
        """True if the model itself, not only a part of it, carries states between calls."""
        return False

    def _mix_shares(self):
        """Returns the share of each layer in the learned mixes of the model.

        Returns:
            dict with a float32 tensor of shape `[L]` for each kind of mix that the model has:
            `elmo_mix` for the first mix of an `Elmo`, and `vector_mix` for the mix of the
            precomputed vectors of a `TokenEmbedder`. `L` is the number of layers.
        """
        shares = {}
        for part in self._all_parts():
            shares |= part._own_mix_shares()
        return shares

    def _own_mix_shares(self):
        return {}

    def _required(self, name):
        """Returns the spec of a feature if every input dict must contain it; otherwise `None`."""
        dicts = [specs for specs in self._input_signatures() if isinstance(specs, dict)]
        return dicts[0].get(name) if dicts else None


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


def _signatures_of(part):
    if inputs_of(part):
        return inputs_of(part)
    if not hasattr(part, "_input_signatures"):
        raise ValueError(
            f"{type(part).__name__} does not specify its inputs. Pass an `input_signature` to "
            "`export`."
        )
    return part._input_signatures()


def _can_quantize(layer):
    is_own = type(layer).quantize is not keras.layers.Layer.quantize
    return is_own and not isinstance(layer, keras.Model)
