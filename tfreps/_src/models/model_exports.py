"""ExportMethods: the inputs that a model accepts, and its export as a SavedModel."""

import os
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops.configurable import inner_layers
from tfreps._src.models.keras_encoder import inputs_of


class ExportMethods:
    """Mixin with the methods `_input_signatures` and `export` of all models.

    `keras.Model.export` infers the inputs of a subclassed model from its first call, and only if
    they are floats. Models with this mixin list the inputs that they accept, so
    `model.export(folder)` also works before the first call.
    """

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

    def export(
        self,
        filepath: str | os.PathLike[str],
        format: str = "tf_saved_model",
        verbose: bool | None = None,
        input_signature: Sequence | None = None,
        **kwargs: Any,
    ) -> None:
        """Exports the model for inference, like `keras.Model.export`.

        The SavedModel has one function, `serve`, which returns the outputs of the model with
        `training=False`; for a tagger, those of `tag`. Loaded with `tf.saved_model.load` or
        `keras.layers.TFSMLayer`, it accepts every form of input that the model accepts. For
        servers, the signatures `serve` and `serving_default` accept only the form that
        contains the required inputs. In these signatures, an output that is a list or tuple
        becomes one output per item, `name_0`, `name_1` and so on.

        Args:
            filepath: str. Folder of the SavedModel. An existing SavedModel is replaced.
            format: str. `"tf_saved_model"` or another export format of Keras.
                Defaults to `"tf_saved_model"`.
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
        _check_keeps_no_state(self)
        if input_signature is None:
            signatures = [[specs] for specs in self._input_signatures()]
        else:
            signatures = [tf.nest.map_structure(_tensor_spec, list(input_signature))]
        if format != "tf_saved_model":
            kwargs["input_signature"] = signatures[0]
            return super().export(filepath, format=format, verbose=verbose, **kwargs)
        if kwargs:
            raise ValueError(
                f"The format 'tf_saved_model' does not support the options {sorted(kwargs)}. Omit "
                "them, or pass a different `format`."
            )
        _write(self, str(filepath), signatures)
        if verbose is not False:
            inputs = " or ".join(_in_brackets(*specs) for specs in signatures)
            print(f"Saved {self.name!r} at {filepath}. `serve` takes {inputs}.")

    def _served(self, *inputs):
        """Computes the outputs of the exported function `serve`.

        For a tagger, these are the outputs of its method `tag`.
        """
        return self(*inputs)


def _signatures_of(part):
    if inputs_of(part):
        return inputs_of(part)
    if not hasattr(part, "_input_signatures"):
        raise ValueError(
            f"{type(part).__name__} does not specify its inputs. Pass an `input_signature` to "
            "`export`."
        )
    return part._input_signatures()


def _check_keeps_no_state(model):
    for part in (model, *(inner for _, inner in inner_layers(model))):
        if getattr(part, "_carries_state", False):
            raise ValueError(
                f'{part.name!r} has `initial_state="carry"`, so its outputs depend on earlier '
                "calls and it cannot be exported. Replace it with the copy that "
                '`with_initial_state("zero")` or `with_initial_state("warm")` returns, and export '
                "again."
            )


def _write(model, folder, signatures):
    """Writes the SavedModel, with lists of its variables like those in Keras's exports."""
    serve = tf.function(lambda *inputs: model._served(*inputs), autograph=False)
    first, *_ = [serve.get_concrete_function(*specs) for specs in signatures]
    flat = tf.function(lambda *inputs: _flat(first(*inputs)), signatures[0], autograph=False)
    saved = tf.train.Checkpoint()  # a saved object needs attributes, which a `Checkpoint` can have
    saved.serve = serve
    for kind in "variables", "trainable_variables", "non_trainable_variables":
        setattr(saved, kind, [variable.value for variable in getattr(model, kind)])
    tf.saved_model.save(saved, folder, {"serve": flat, "serving_default": flat})


def _flat(outputs):
    """Converts outputs to the form that signatures require: a dict or a list of tensors."""
    if not isinstance(outputs, dict):
        return tf.nest.flatten(outputs)
    found = {}
    for name, output in outputs.items():
        parts = tf.nest.flatten(output)
        is_one = tf.is_tensor(output)
        names = [name] if is_one else [f"{name}_{i}" for i in range(len(parts))]
        found |= dict(zip(names, parts, strict=True))
    return found


def _tensor_spec(given):
    """Converts a spec or a tensor to a `tf.TensorSpec`; for a tensor, with any batch size."""
    if isinstance(given, tf.TensorSpec):
        return given
    if isinstance(given, keras.InputSpec):
        return tf.TensorSpec(given.shape, given.dtype, given.name)
    name = None if tf.is_tensor(given) else given.name
    return tf.TensorSpec([None, *given.shape[1:]], given.dtype, name)


def _in_brackets(*arguments):
    """Returns specs of call arguments as text: dicts in `{...}`, lists and tuples in `[...]`."""
    brackets = {dict: "{%s}", list: "[%s]", tuple: "[%s]"}
    return ", ".join(brackets.get(type(specs), "%s") % written(specs) for specs in arguments)


def written(signature):
    """Returns the name, dtype and shape of each spec in a structure as text, for messages."""
    specs = tf.nest.flatten(signature)
    return ", ".join(f"{spec.name} {spec.dtype.name} {list(spec.shape)}" for spec in specs)
