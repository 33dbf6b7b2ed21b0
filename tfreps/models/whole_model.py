"""WholeModel: methods of all models, for parts, inputs, presets, export and quantization."""

import itertools

import keras
import tensorflow as tf

from tfreps.layers.ops.configurable import Configurable, argument_names
from tfreps.layers.ops.replicas import num_replicas, sum_over_replicas
from tfreps.models.fit_inputs import check_fit_inputs
from tfreps.models.stored import model_files
from tfreps.optimizers.summed_gradients import apply_summed


class WholeModel(Configurable):
    """Mixin for `keras.Model` with the methods that all models of tfreps have.

    `keras.Model.export` infers the inputs of a subclassed model from its first call, and only if
    they are floats. Models with this mixin list the inputs that they accept, so
    `model.export(folder)` also works before the first call.

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

    # Names of features without rows, which every replica of a strategy gets whole, and the seeds
    # that are the same on every replica.
    shared_features = ()
    common_seeds = ()

    @classmethod
    def from_preset(cls, source, **options):
        """Loads a model by name, from the Hugging Face Hub, from a URL or from a path.

        If the source contains a larger model, such as a `Classifier` on a `BertEncoder`, the first
        part of this class is returned. No code from the files is run.

        Args:
            source: str or path-like. A name in `tfreps.presets.table()`, such as
                `"elmo_original"`; `"hf://owner/repository[@revision][/folder]"`; a URL; a path that
                TensorFlow reads, such as `"gs://bucket/folder"`; or a local file, folder or zip
                archive. The source must contain what `save_preset` or a tfreps program wrote, a
                `.keras` file, or published weights in a format that `from_pretrained` of the class
                reads (for `Elmo`, `BiLM.from_pretrained`).
            **options: Options of `from_pretrained`, only for published weights. For `Elmo`, its
                options other than `bilm`, unless the source contains an `Elmo`.

        Returns:
            The model.

        Raises:
            ValueError: If the source cannot be found or downloaded, if it contains no model of
                this class, or if `options` are passed that do not apply to it.
            OSError: If there is no room on the disk.

        Example:
        >>> from tfreps.models import TextCNN, TokenEmbedder
        >>> model = TextCNN(TokenEmbedder(vocabulary_size=9), num_filters=4)
        >>> model.save_preset("my_text_cnn")
        >>> TextCNN.from_preset("my_text_cnn").num_filters
        4
        """
        return model_files().from_preset(cls, source, **options)

    def save_preset(self, folder):
        """Writes the model to a folder that `from_preset` and `tfreps.load` read.

        The folder contains `options.json`, `config.json`, `model.safetensors`, a model card and,
        for a tagger or classifier, the tags or labels. If the BERT classes of transformers can
        represent the model, they can load the folder too. To store the vocabulary as well, use
        `save_preset` of the object that `tfreps.load` returns.

        Args:
            folder: str or path-like. A folder that does not exist yet or is empty.

        Raises:
            ValueError: If the folder exists and is not empty, or the model cannot be stored.
            OSError: If the folder cannot be written.
        """
        model_files().save_preset(self, folder)

    def upload_preset(self, address, message="Upload with tfreps", private=None):
        """Uploads the folder that `save_preset` writes to a repository on the Hugging Face Hub.

        The upload needs a token: log in with `hf auth login`, or set the environment variable
        `HF_TOKEN`. To upload the vocabulary as well, use `upload_preset` of the object that
        `tfreps.load` returns.

        Args:
            address: str. `hf://owner/repository[@branch][/folder]`. The repository is created if
                it does not exist; the branch must exist.
            message: str. Message of the commit. Defaults to "Upload with tfreps".
            private: bool. Whether a new repository is private. If `None`, the owner's default
                setting applies. Defaults to `None`.

        Returns:
            str. URL of the commit.

        Raises:
            ValueError: If the address is not valid, the model cannot be stored, or the upload
                fails.
            OSError: If the temporary folder cannot be written.
        """
        return model_files().upload_preset(self, address, message, private)

    @property
    def trainable(self):
        """True if the model is trainable.

        Setting this property changes all layers, but parts that are frozen by an option of the
        model stay frozen.
        """
        return super().trainable

    @trainable.setter
    def trainable(self, value):
        keras.Model.trainable.fset(self, value)
        if value and self.built:
            for part in self._frozen_by_options():
                part.trainable = False

    def parts(self):
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

    def all_parts(self):
        """Yields the model itself and all tfreps models inside it, outer models first."""
        yield self
        for part in self.parts().values():
            if isinstance(part, WholeModel):
                yield from part.all_parts()

    def find(self, *classes):
        """Returns the first of `all_parts()` that is an instance of one of the classes.

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
        return next((part for part in self.all_parts() if isinstance(part, classes)), None)

    @property
    def num_tokens(self):
        """Vocabulary size of the model or of its first part that has one, or `None`."""
        sizes = [vars(part).get("vocabulary_size") for part in self.all_parts()]
        return next((size for size in sizes if size is not None), None)

    @property
    def num_characters(self):
        """Number of character ids per token; `None` if the model does not read `character_ids`."""
        spec = self._required("character_ids")
        return None if spec is None else spec.shape[-1]

    @property
    def reads_vectors(self):
        """True if the model reads `vectors`, which `tfreps embed` computes in advance."""
        return self._required("vectors") is not None

    @property
    def carries_state(self):
        """True if the model itself, not only a part of it, carries states between calls."""
        return False

    def mix_shares(self):
        """Returns the share of each layer in the learned mixes of the model.

        Returns:
            dict with a float32 tensor of shape `[L]` for each kind of mix that the model has:
            `elmo_mix` for the first mix of an `Elmo`, and `vector_mix` for the mix of the
            precomputed vectors of a `TokenEmbedder`. `L` is the number of layers.
        """
        shares = {}
        for part in self.all_parts():
            shares |= part._own_mix_shares()
        return shares

    def input_signatures(self):
        """Returns the specs of all inputs that the model accepts, for any batch size and length.

        By default, each input is a dict with the features that the parts of the model read. If the
        model has a single part whose first form of input is not a dict, the inputs of the model
        are those of this part.

        Returns:
            list with one item for each form of the input: a `tf.TensorSpec`, or a dict of them. The
            first item contains only what is required. The other items add optional features or
            have another form, such as a tensor instead of a dict.

        Raises:
            ValueError: If a part has no `input_signatures`.
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
        """Exports the model for inference, like `keras.Model.export`.

        The SavedModel has one function, `serve`, which returns the outputs of the model with
        `training=False`. Loaded with `tf.saved_model.load` or `keras.layers.TFSMLayer`, it accepts
        each of the `input_signatures()`. For servers, the signatures `serve` and `serving_default`
        accept the first of them. In these signatures, an output that is a list or tuple becomes
        one output per item, `name_0`, `name_1` and so on.

        Args:
            filepath: str. Folder of the SavedModel. An existing SavedModel is replaced.
            format: str. `"tf_saved_model"` or another export format of Keras.
                Defaults to `"tf_saved_model"`.
            verbose: bool. Whether to print the path and the inputs. If `None` (the default), they
                are printed.
            input_signature: list with a structure of `tf.TensorSpec` or `keras.InputSpec` for each
                argument of `call`. If `None` (the default), `input_signatures()` is used.
            **kwargs: Options of the other formats.

        Raises:
            ValueError: If the format is unknown, if an option does not apply to
                `"tf_saved_model"`, if the model or a part of it carries states between calls, or
                if `input_signature` is `None` and a part does not specify its inputs.
        """
        _check_keeps_no_state(self)
        if input_signature is None:
            signatures = [[specs] for specs in self.input_signatures()]
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
            inputs = " or ".join(f"({_written(specs)})" for specs in signatures)
            print(f"Saved {self.name!r} at {filepath}. `serve` takes {inputs}.")

    def __call__(self, *args, **kwargs):
        if args:
            _check_tensors(self, args[0])
        return super().__call__(*args, **kwargs)

    def predict(self, *args, **kwargs):
        """Computes the output for all batches like `keras.Model.predict`, as NumPy arrays.

        The batches may have different lengths, which `keras.Model.predict` would return as a
        `tf.RaggedTensor`: here, outputs are padded to the longest batch with 0 or False.

        Args:
            *args: Arguments of `keras.Model.predict`.
            **kwargs: Keyword arguments of `keras.Model.predict`.

        Returns:
            The output of the model, or for a tagger that of `tag`, in NumPy arrays.

        Raises:
            ValueError: If there are no batches.
        """
        try:
            return tf.nest.map_structure(_padded, super().predict(*args, **kwargs))
        except UnboundLocalError as error:  # which Keras 3.15 raises without batches
            raise ValueError("`x` must contain at least one batch; got no batches.") from error

    def fit(self, x=None, *args, **kwargs):
        """Trains the model like `keras.Model.fit`.

        Raises:
            ValueError: If `x` consists of texts or tokens, or is a `SequenceBatches`.
        """
        check_fit_inputs(x)
        return super().fit(x, *args, **kwargs)

    def evaluate(self, x=None, *args, **kwargs):
        """Evaluates the model like `keras.Model.evaluate`, but always returns floats.

        The method of Keras 3.12 returns tensors.

        Raises:
            ValueError: If `x` consists of texts or tokens, or is a `SequenceBatches`.
        """
        check_fit_inputs(x)
        return tf.nest.map_structure(_as_float, super().evaluate(x, *args, **kwargs))

    def train_step(self, data):
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

    def test_step(self, data):
        """Runs one evaluation step like `keras.Model.test_step`, with any number of replicas."""
        if num_replicas() == 1:
            return super().test_step(data)
        return self._loss_of(data, training=False)[1]()

    def quantize(self, *args, **kwargs):
        """Quantizes the layers that Keras can quantize; see `keras.Model.quantize`.

        Args:
            *args: Arguments of `keras.Model.quantize`.
            **kwargs: Keyword arguments of `keras.Model.quantize`.

        Raises:
            NotImplementedError: If Keras cannot quantize any layer of the model.
        """
        if not any(map(_can_quantize, self._flatten_layers(include_self=False))):
            raise NotImplementedError(
                f"{type(self).__name__} {self.name!r} has no layer to quantize. Keras quantizes "
                "Dense, EinsumDense and Embedding layers."
            )
        super().quantize(*args, **kwargs)

    def _loss_of(self, data, training):
        """Returns this replica's part of the loss, and a function that computes the metrics."""
        x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
        given = {"x": x, "y": y, "y_pred": self(x, training=training), "sample_weight": weight}
        loss = self.compute_loss(**given, training=training)
        # Keras multiplies the part by the number of replicas, which is right for equal parts.
        total = sum_over_replicas(tf.stop_gradient(loss))
        self._loss_tracker.update_state(total, sample_weight=tf.shape(tf.nest.flatten(x)[0])[0])
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
        """Returns the metrics over all replicas; Keras would average the replicas' metrics."""
        if self.distribute_strategy.num_replicas_in_sync == 1:
            return super()._get_metrics_result_or_logs(logs)
        results = self.get_metrics_result()
        return {name: results.get(name, value) for name, value in logs.items()}

    def _own_mix_shares(self):
        return {}

    def _required(self, name):
        """Returns the spec of a feature if every input dict must contain it; otherwise `None`."""
        dicts = [specs for specs in self.input_signatures() if isinstance(specs, dict)]
        return dicts[0].get(name) if dicts else None


def feature(name, *sizes, dtype="int32"):
    """Returns the spec of a feature with one entry per token, `[B, T, *sizes]`."""
    return tf.TensorSpec([None, None, *sizes], dtype, name)


def with_optional(required, *optional):
    """Returns a list of dicts: the required specs with each subset of the optional ones."""
    found = []
    for count in range(len(optional) + 1):
        for selected in itertools.combinations(optional, count):
            found.append({spec.name: spec for spec in (*required, *selected)})
    return found


def _signatures_of(part):
    if not hasattr(part, "input_signatures"):
        raise ValueError(
            f"{type(part).__name__} does not specify its inputs. Pass an `input_signature` to "
            "`export`, or add a method `input_signatures` to the class."
        )
    return part.input_signatures()


def _check_keeps_no_state(model):
    for part in model._flatten_layers():
        if isinstance(part, WholeModel) and part.carries_state:
            raise ValueError(
                f'{part.name!r} has `initial_state="carry"`, so its outputs depend on earlier '
                "calls and it cannot be exported. Replace it with the copy that "
                '`with_initial_state("zero")` or `with_initial_state("warm")` returns, and export '
                "again."
            )


def _write(model, folder, signatures):
    """Writes the SavedModel, with lists of its variables like those in Keras's exports."""
    serve = tf.function(lambda *inputs: model(*inputs), autograph=False)
    first, *_ = [serve.get_concrete_function(*specs) for specs in signatures]
    flat = tf.function(lambda *inputs: _flat(first(*inputs)), signatures[0], autograph=False)
    saved = tf.train.Checkpoint()  # an object whose attributes are saved
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
    """Converts a spec to a `tf.TensorSpec`, or a tensor to one that allows any batch size."""
    if isinstance(given, tf.TensorSpec):
        return given
    if isinstance(given, keras.InputSpec):
        return tf.TensorSpec(given.shape, given.dtype, given.name)
    name = None if tf.is_tensor(given) else given.name
    return tf.TensorSpec([None, *given.shape[1:]], given.dtype, name)


def _check_tensors(model, inputs):
    """Raises a ValueError if an input is not an array or tensor with rows of equal length."""
    for value in [None] if inputs is None else tf.nest.flatten(inputs):
        is_ragged = isinstance(value, tf.RaggedTensor)
        if is_ragged or not (hasattr(value, "shape") or value is None and inputs is not None):
            got = "a RaggedTensor" if is_ragged else f"{value!r} ({type(value).__name__})"
            wanted = _written(model.input_signatures()[0])
            raise ValueError(
                f"{type(model).__name__} must be called on arrays or tensors, or on a dict of "
                f"them: {wanted}; got {got}. Convert lists with `np.array`, and pad ragged tensors "
                "with `to_tensor(0)`."
            )


def _padded(output):
    return output.to_tensor().numpy() if isinstance(output, tf.RaggedTensor) else output


def _as_float(value):
    return float(value) if tf.is_tensor(value) and value.shape.rank == 0 else value


def _written(signature):
    specs = tf.nest.flatten(signature)
    return ", ".join(f"{spec.name} {spec.dtype.name} {list(spec.shape)}" for spec in specs)


def _can_quantize(layer):
    is_own = type(layer).quantize is not keras.layers.Layer.quantize
    return is_own and not isinstance(layer, keras.Model)
