"""WholeModel: `export`, `quantize` and `evaluate` of Keras, for models that know their inputs."""

import itertools

import keras
import tensorflow as tf

PARTS = "embedder", "encoder", "linear"


class WholeModel:
    """Next to `keras.Model`: exports without an `input_signature`, and quantizes or says why not.

    `keras.Model.export` reads the inputs of a subclassed model off its first call, and only where
    these are floats. Here every model lists what it can be called with, so `model.export(folder)`
    works before the first call too.

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

    def input_signatures(self):
        """What the model can be called with: specs of the inputs, of any batch and any length.

        Returns:
            list of `tf.TensorSpec` or dicts of them. The first has what is required, the others
            optional inputs too. By default, what the parts of the model read.

        Raises:
            ValueError: for a part that does not say what it reads.
        """
        found = [{}]
        for part in (getattr(self, name, None) for name in PARTS):
            if isinstance(part, keras.layers.Layer):  # not a number of the same name
                read = [specs for specs in _signatures_of(part) if isinstance(specs, dict)]
                found = [{**one, **other} for one in found for other in read]
        return list({frozenset(specs): specs for specs in found}.values())

    def export(
        self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs
    ):
        """Writes the model for inference, as `keras.Model.export` does.

        Args:
            filepath: folder of the SavedModel; a SavedModel in it is replaced.
            format: `"tf_saved_model"`, or another format of Keras.
            verbose: bool. Whether to print where the model is and what it takes; None for True.
            input_signature: list with a structure of `tf.TensorSpec` or `keras.InputSpec` for each
                argument of a call. None for `input_signatures()`.
            **kwargs: options of the other formats.

        The SavedModel has one function, `serve`: what the model returns, with `training=False`.
        Loaded by `tf.saved_model.load` or `keras.layers.TFSMLayer` it takes each of the
        `input_signatures()`; for servers, the signatures `serve` and `serving_default` take the
        first of them. A list or a tuple among the outputs becomes one output for each of its
        items there, `name_0`, `name_1` and so on.

        Raises:
            ValueError: for a model whose inputs are not known, or that carries states from call to
                call; for options that do not apply.
        """
        if input_signature is None:
            _check_keeps_no_state(self)
            signatures = [[specs] for specs in self.input_signatures()]
        else:
            signatures = [tf.nest.map_structure(_tensor_spec, list(input_signature))]
        if format != "tf_saved_model":
            kwargs["input_signature"] = signatures[0]
            return super().export(filepath, format=format, verbose=verbose, **kwargs)
        if kwargs:
            raise ValueError(f"A SavedModel has no options {sorted(kwargs)}: leave them out.")
        _write(self, str(filepath), signatures)
        if verbose is not False:
            inputs = " or ".join(f"({_written(specs)})" for specs in signatures)
            print(f"Saved {self.name!r} at {filepath}. `serve` takes {inputs}.")

    def evaluate(self, *args, **kwargs):
        """As `keras.Model.evaluate`; the numbers are floats, which Keras 3.12 gives as tensors."""
        return tf.nest.map_structure(_as_float, super().evaluate(*args, **kwargs))

    def quantize(self, *args, **kwargs):
        """Quantizes the layers that Keras can quantize; see `keras.Model.quantize`.

        Raises:
            NotImplementedError: if the model has no such layer.
        """
        if not any(map(_can_quantize, self._flatten_layers(include_self=False))):
            raise NotImplementedError(
                f"There is nothing to quantize in {type(self).__name__} {self.name!r}: Keras "
                "quantizes Dense, EinsumDense and Embedding layers, and this model has none."
            )
        super().quantize(*args, **kwargs)


def feature(name, *sizes, dtype="int32"):
    """The spec of a feature of tokens: `[B, T, *sizes]`."""
    return tf.TensorSpec([None, None, *sizes], dtype, name)


def with_optional(required, *optional):
    """Dicts of the required specs, with each selection of the optional ones; none of them first."""
    found = []
    for count in range(len(optional) + 1):
        for selected in itertools.combinations(optional, count):
            found.append({spec.name: spec for spec in (*required, *selected)})
    return found


def _signatures_of(part):
    if not hasattr(part, "input_signatures"):
        raise ValueError(
            f"{type(part).__name__} does not say what it reads: give `export` an "
            "`input_signature`, or the class a method `input_signatures`."
        )
    return part.input_signatures()


def _check_keeps_no_state(model):
    for part in model._flatten_layers():
        if getattr(part, "initial_state", None) == "carry":
            raise ValueError(
                f'{part.name!r} has `initial_state="carry"`: what it returns depends on earlier '
                "calls, which an export must not. Use its copy by `with_initial_state`, with "
                '"zero" or "warm".'
            )


def _write(model, folder, signatures):
    """Writes the SavedModel, with its variables in lists as Keras's own exports have them."""
    serve = tf.function(lambda *inputs: model(*inputs), autograph=False)
    first, *_ = [serve.get_concrete_function(*specs) for specs in signatures]
    flat = tf.function(lambda *inputs: _flat(first(*inputs)), signatures[0], autograph=False)
    saved = tf.train.Checkpoint()  # an object whose attributes are saved
    saved.serve = serve
    for kind in "variables", "trainable_variables", "non_trainable_variables":
        setattr(saved, kind, [variable.value for variable in getattr(model, kind)])
    tf.saved_model.save(saved, folder, {"serve": flat, "serving_default": flat})


def _flat(outputs):
    """Outputs as a signature has to have them: a dict, or a list, of tensors."""
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
    """Of a spec or a tensor of Keras or TensorFlow; a tensor stands for any batch."""
    if isinstance(given, tf.TensorSpec):
        return given
    if isinstance(given, keras.InputSpec):
        return tf.TensorSpec(given.shape, given.dtype, given.name)
    name = None if tf.is_tensor(given) else given.name
    return tf.TensorSpec([None, *given.shape[1:]], given.dtype, name)


def _as_float(value):
    return float(value) if tf.is_tensor(value) and value.shape.rank == 0 else value


def _written(signature):
    specs = tf.nest.flatten(signature)
    return ", ".join(f"{spec.name} {spec.dtype.name} {list(spec.shape)}" for spec in specs)


def _can_quantize(layer):
    is_own = type(layer).quantize is not keras.layers.Layer.quantize
    return is_own and not isinstance(layer, keras.Model)
