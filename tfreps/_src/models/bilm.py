"""BiLM: the token encoder and the bidirectional LSTMs of ELMo."""

import os
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.layers.char_cnn import CharCNNEncoder
from tfreps._src.layers.ops.annotations import Activation, Filters
from tfreps._src.layers.ops.configurable import shared_options
from tfreps._src.layers.ops.masks import checked_ids
from tfreps._src.layers.ops.table_rows import distinct_rows
from tfreps._src.models.any_bilm import AnyBiLM, InitialState
from tfreps._src.models.preset_methods import FILES, Model, read_files
from tfreps._src.text.char_ids import character_ids, sentence_end_ids, sentence_start_ids
from tfreps._src.text.tokenizers import split_tokens

WARM_UP = "The committee said on Monday that it would publish the full report , with all of its \
findings , before the end of the year .".split()


@keras.saving.register_keras_serializable(package="tfreps")
class BiLM(AnyBiLM):
    """Bidirectional language model of ELMo, without its softmax.

        layer 0:  [token, token],  token = CharCNN(characters)  (or an embedding of the id)
        layer l:  [forward_l, backward_l]                       (`ElmoBiLSTM`)

    The model adds a sentence start and a sentence end to every sentence and removes them from the
    outputs. The defaults are those of the published model with 93.6 million parameters.

    Args:
        filters: list of `(width, count)` pairs. Filters of the character CNN. Defaults to those of
            the published model, 2048 filters of widths 1 to 7.
        units: int. Width of the cell state in each direction. Defaults to 4096.
        projection_dim: int. Width of the token vectors and the hidden states. It must not exceed
            `units`. If it equals `units`, there is no projection. Defaults to 512.
        num_layers: int. Number of LSTM layers. Defaults to 2.
        character_dim: int. Width of a character vector. Defaults to 16.
        num_highways: int. Number of highway layers after the convolutions. Defaults to 2.
        activation: str or function. Activation of the convolutions. Defaults to `"relu"`.
        max_characters: int. Number of character ids per token, at least 3. Defaults to 50.
        cell_clip: float. Bound on the absolute value of the cell state. If `None`, the cell state
            is not clipped. Defaults to 3.0.
        projection_clip: float. Bound on the absolute value of the projected hidden state. If
            `None`, the hidden state is not clipped. Has no effect without a projection. Defaults
            to 3.0.
        use_skip_connections: bool. Whether to add the input of each LSTM layer to its output, from
            the second layer on. Defaults to `True`.
        dropout: float in [0, 1). Dropout rate of the input of each LSTM layer. Defaults to 0.0.
        bidirectional: bool. Whether to use a backward direction in addition to the forward
            direction. Defaults to `True`.
        vocabulary_size: int. Vocabulary size of a token model, which reads token ids. Token ids are
            vocabulary ids plus 1, and 0 is padding. If `None` (the default), the model reads
            character ids.
        sentence_start_id: int. Token id of the sentence start, including the added 1. Has no effect
            with character ids. Defaults to 1.
        sentence_end_id: int. Token id of the sentence end, including the added 1. Has no effect
            with character ids. Defaults to 2.
        initial_state: `"zero"`, `"warm"` or `"carry"`. The state that each batch starts from.
            `"zero"`: zeros, as in the first call of the original implementations. `"warm"`: the
            state after one fixed sentence (see `warm_up`), stored with the weights; the results are
            deterministic and close to those of later calls of these implementations. `"carry"`: row
            `i` continues from the final state of row `i` of the previous batch until `reset_states`
            is called, as in bilm-tf and AllenNLP. Defaults to `"zero"`.
        max_batch_size: int. Largest batch size with `"carry"`, the number of rows whose states are
            stored. Defaults to 128.

    Call arguments:
        inputs: One of the following: an int tensor or array of character ids `[B, T, C]` or token
            ids `[B, T]`; a string tensor of tokens `[B, T]` with `""` for padding, or of sentences
            `[B]`, which are split at white space; or a dict with `character_ids` (for a token
            model, `token_ids`) and, optionally, `mask` bool `[B, T]`, True on real tokens. A token
            model does not accept strings. Padding must come last. `C` is `max_characters`, and `T`
            may be 0.
        initial_state: dict with the keys of the final states listed under Returns: the states to
            start from. If `None` (the default), the constructor's `initial_state` is used.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `layer_outputs` float32 `[B, L+1, T, 2P]`: the token layer first, zero on padding;
        `sequence_output` float32 `[B, T, 2P]`: the last layer; `mask` bool `[B, T]`: True on real
        tokens; `layer_outputs_with_boundaries` float32 `[B, L+1, T+2, 2P]` and
        `mask_with_boundaries` bool `[B, T+2]`, which include the sentence start and end; and the
        final states of each sentence, float32: `forward_hidden` and `backward_hidden` `[B, L, P]`,
        `forward_cell` and `backward_cell` `[B, L, U]`. `L` is `num_layers`, `P` is
        `projection_dim`, and `U` is `units`. With `bidirectional=False`, `P` replaces `2P`, and
        there are no backward states.

    Raises:
        ValueError: If an option is invalid, the ids are missing from the dict, have the wrong shape
            or are not integers, or a token model is given strings.
        tf.errors.InvalidArgumentError: If an id is out of range, padding comes before a token, or,
            with `"carry"`, a batch has more than `max_batch_size` rows.

    Reference: Peters et al., 2018, "Deep contextualized word representations"; bilm-tf.

    Example:
    >>> import tfreps
    >>> bilm = BiLM(filters=[[1, 8], [2, 8]], units=16, projection_dim=4)
    >>> out = bilm(tfreps.text.batch_to_ids([["I", "have", "a", "dog"], ["That"]]))
    >>> out["layer_outputs"].shape, out["mask"].numpy().sum(axis=1).tolist()
    (TensorShape([2, 3, 4, 8]), [4, 1])
    """

    def __init__(
        self,
        filters: Filters = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)),
        units: int = 4096,
        projection_dim: int = 512,
        num_layers: int = 2,
        character_dim: int = 16,
        num_highways: int = 2,
        activation: Activation = "relu",
        max_characters: int = 50,
        cell_clip: float | None = 3.0,
        projection_clip: float | None = 3.0,
        use_skip_connections: bool = True,
        dropout: float = 0.0,
        bidirectional: bool = True,
        vocabulary_size: int | None = None,
        sentence_start_id: int = 1,
        sentence_end_id: int = 2,
        initial_state: InitialState = "zero",
        max_batch_size: int = 128,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)  # keeps states in float32
        # Options.
        self.filters = [list(pair) for pair in filters]
        self.units = units
        self.projection_dim = projection_dim
        self.num_layers = num_layers
        self.character_dim = character_dim
        self.num_highways = num_highways
        self.activation = activation
        self.max_characters = max_characters
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.use_skip_connections = use_skip_connections
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.vocabulary_size = vocabulary_size
        self.sentence_start_id = sentence_start_id
        self.sentence_end_id = sentence_end_id
        self.initial_state = initial_state
        self.max_batch_size = max_batch_size
        _check(self)
        # Layers.
        common = {"trainable": self.trainable, "name": "token_encoder"}
        if vocabulary_size is None:
            options = shared_options(self, CharCNNEncoder)
            token_encoder = CharCNNEncoder(**options, **common, dtype=self.dtype_policy)
        else:
            token_encoder = keras.layers.Embedding(
                vocabulary_size + 1,
                projection_dim,
                "glorot_uniform",
                **common,
                dtype=self.variable_dtype,
            )
        self._add_layers(token_encoder)

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        weights_file: str | os.PathLike[str] | None = None,
        initial_state: InitialState = "zero",
        embedding_file: str | os.PathLike[str] | None = None,
        *,
        max_batch_size: int | None = None,
        dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a biLM from published ELMo weights or from a training folder of bilm-tf.

        Args:
            source: str or path-like. Path of an `options.json` of bilm-tf or AllenNLP; a folder
                with one such file and its weights; or a training folder of bilm-tf (TensorFlow 1),
                whose newest checkpoint is loaded without its softmax; or a zip archive, name or
                address, as in `from_preset`. The HDF5 weights must be next to the options:
                `weights.hdf5`, `X_weights.hdf5` for `X_options.json`, or the only other HDF5 file.
            weights_file: str or path-like. Path of the HDF5 weights if they are elsewhere, or
                relative to the folder of the options. Defaults to `None`.
            initial_state: `"zero"`, `"warm"` or `"carry"`; see `BiLM`. With `"warm"`, `warm_up` is
                called and reads the default sentence. Defaults to `"zero"`.
            embedding_file: str or path-like. Path of the HDF5 file that bilm-tf's
                `dump_token_embeddings` wrote. The model then reads token ids instead of character
                ids. Defaults to `None`.
            max_batch_size: int. Largest batch size with `initial_state="carry"`. If `None` (the
                default), it is 128.
            dropout: float in [0, 1). Dropout rate of the input of each LSTM layer. If `None` (the
                default), it is 0 or, for a training folder, the rate in the options of the folder.
            trainable: bool. Whether the model is trainable. If `None` (the default), it is.
            dtype: str or `keras.DTypePolicy`. Data type of the model. If `None` (the default), it
                is Keras's default.
            **options: Further options of `BiLM` that replace those of the source.

        Returns:
            `BiLM` with the weights of the source.

        Raises:
            ValueError: If a file is missing or damaged, an option is missing or invalid, or the
                files do not match each other. The error message names the file or the array.

        Example:
        >>> from tfreps.models import BiLM
        >>> small = BiLM(filters=[[1, 8]], units=8, projection_dim=4)
        >>> small.save_pretrained("elmo_mine")
        >>> BiLM.from_pretrained("elmo_mine", initial_state="warm").filters
        [[1, 8]]
        """
        return read_files("from_pretrained", locals())

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes `options.json` and `weights.hdf5` for bilm-tf and AllenNLP.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Warns:
            UserWarning: If AllenNLP cannot load the model.

        Raises:
            ValueError: If the model is unidirectional or has an option that the format does not
                support.
        """
        FILES["save_pretrained"](self, folder)

    @property
    def _ids_name(self):
        return "character_ids" if self.vocabulary_size is None else "token_ids"

    @property
    def _ids_sizes(self):
        return [self.max_characters] if self.vocabulary_size is None else []

    def _boundary_ids(self):
        if self.vocabulary_size is not None:
            return self.sentence_start_id, self.sentence_end_id
        return sentence_start_ids(self.max_characters), sentence_end_ids(self.max_characters)

    def _encode_distinct(self, ids):
        if self.vocabulary_size is None:
            return super()._encode_distinct(ids)
        # Each distinct id is looked up once, so that the sparse gradient repeats no row.
        distinct, which = distinct_rows(tf.reshape(ids, [-1]))
        most = self.vocabulary_size
        message = f"Token ids must lie in 0..{most}. Create them with the vocabulary of this model."
        distinct = checked_ids(distinct, self.vocabulary_size + 1, message)
        vectors = tf.cast(self.token_encoder(distinct), "float32")
        vectors = tf.where((distinct != 0)[:, None], vectors, 0.0)
        return vectors, tf.ensure_shape(tf.reshape(which, tf.shape(ids)), ids.shape)

    def _warm_up_sentence(self):
        return (
            tf.constant([WARM_UP]) if self.vocabulary_size is None else super()._warm_up_sentence()
        )

    def _of_strings(self, strings):
        if self.vocabulary_size is not None:
            raise ValueError(
                "`inputs` must be token ids [B, T], because this biLM has a `vocabulary_size` "
                f"and does not accept strings; got strings of shape {strings.shape}. Convert "
                "tokens to ids with `tfreps.text.TokenIndexer`."
            )
        if strings.shape.rank == 1:
            strings = split_tokens(strings)  # [B, T]
        return character_ids(strings, self.max_characters)


def _check(model):
    check_integers(3, max_characters=model.max_characters)
    if model.vocabulary_size is not None:
        sizes = {name: getattr(model, name) for name in ("vocabulary_size", "projection_dim")}
        check_integers(1, **sizes)
        boundaries = model.sentence_start_id, model.sentence_end_id
        if not all(1 <= id_ <= model.vocabulary_size for id_ in boundaries):
            raise ValueError(
                "`sentence_start_id` and `sentence_end_id` must be from 1 to `vocabulary_size` "
                f"({model.vocabulary_size}); got {boundaries[0]} and {boundaries[1]}."
            )
