"""WholeModel: what all models have: their parts by name, `export`, `quantize` and `evaluate`."""

import itertools

import keras
import tensorflow as tf

from tfreps.layers.ops.configurable import Configurable, argument_names


class WholeModel(Configurable):
    """Next to `keras.Model`: knows its parts and its inputs, exports and quantizes.

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

    @property
    def trainable(self):
        """Whether the model is trained. Freezing is for all of it, and so is unfreezing, but for
        what its options keep from being trained."""
        return super().trainable

    @trainable.setter
    def trainable(self, value):
        keras.Model.trainable.fset(self, value)
        if value and self.built:
            for part in self._frozen_by_options():
                part.trainable = False

    def parts(self):
        """The models and layers that this one was made of.

        Returns:
            dict from the name of an argument to the model or layer that was given, in the order of
            the arguments.

        Example:
        >>> from tfreps.models import BiLSTMEncoder, Tagger, TokenEmbedder
        >>> tagger = Tagger(BiLSTMEncoder(TokenEmbedder(vocabulary_size=9), units=4), ["O", "X"])
        >>> list(tagger.parts()), list(tagger.encoder.parts())
        (['encoder'], ['embedder'])
        """
        values = {name: vars(self).get(name) for name in argument_names(type(self))}
        return {n: value for n, value in values.items() if isinstance(value, keras.layers.Layer)}

    def all_parts(self):
        """Yields the model and all models of tfreps inside of it, outer ones first."""
        yield self
        for part in self.parts().values():
            if isinstance(part, WholeModel):
                yield from part.all_parts()

    def find(self, *classes):
        """The first part of one of these classes, at any depth, or the model itself.

        Args:
            *classes: models of tfreps.

        Returns:
            the part; None where there is none.

        Example:
        >>> from tfreps.models import BertEncoder, BertPretrainer, TokenEmbedder
        >>> bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
        >>> BertPretrainer(bert).find(BertEncoder) is bert, bert.find(TokenEmbedder)
        (True, None)
        """
        return next((part for part in self.all_parts() if isinstance(part, classes)), None)

    @property
    def num_tokens(self):
        """Tokens, or pieces, of the table in which the model looks ids up; None without a table."""
        sizes = [vars(part).get("vocabulary_size") for part in self.all_parts()]
        return next((size for size in sizes if size is not None), None)

    @property
    def num_characters(self):
        """Character ids of each token that the model reads; None if it reads none."""
        spec = self._required("character_ids")
        return None if spec is None else spec.shape[-1]

    @property
    def reads_vectors(self):
        """Whether the model reads `vectors`, which were computed before (`tfreps embed`)."""
        return self._required("vectors") is not None

    @property
    def carries_state(self):
        """Whether the model itself, not only a part of it, keeps states from call to call."""
        return False

    def mix_shares(self):
        """How much each layer has in the learned mixes inside: dict from a name to float32 `[L]`.

        The names are `elmo_mix`, of the first mix of an `Elmo`, and `vector_mix`, of the vectors
        that a `TokenEmbedder` reads.
        """
        shares = {}
        for part in self.all_parts():
            shares |= part._own_mix_shares()
        return shares

    def input_signatures(self):
        """What the model can be called with: specs of the inputs, of any batch and any length.

        Returns:
            list of `tf.TensorSpec` or dicts of them. The first has what is required, the others
            optional inputs too. By default, what the parts of the model read, as dicts; or of one
            part that rather reads a tensor, all that it reads.

        Raises:
            ValueError: for a part that does not say what it reads.
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

    def _own_mix_shares(self):
        return {}

    def _required(self, name):
        """The spec of a feature that every call with a dict must have; None for others."""
        dicts = [specs for specs in self.input_signatures() if isinstance(specs, dict)]
        return dicts[0].get(name) if dicts else None


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
        if isinstance(part, WholeModel) and part.carries_state:
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
