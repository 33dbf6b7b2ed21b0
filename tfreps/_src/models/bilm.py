"""BiLM: the token encoder and the bidirectional LSTMs of ELMo."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_integers
from tfreps._src.layers.char_cnn import CharCNNEncoder
from tfreps._src.layers.elmo_bilstm import ElmoBiLSTM, flatten_states, unflatten_states
from tfreps._src.layers.ops.annotations import Activation, Array, Features, Filters, Outputs
from tfreps._src.layers.ops.configurable import shared_options
from tfreps._src.layers.ops.masks import checked_ids
from tfreps._src.layers.ops.table_rows import distinct_rows
from tfreps._src.models.copy_weights import copy_weights
from tfreps._src.models.features import check_features, feature
from tfreps._src.models.published_bilm import InitialState, PublishedBiLM
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.text.char_ids import (
    add_boundaries,
    character_ids,
    sentence_end_ids,
    sentence_start_ids,
)
from tfreps._src.text.tokenizers import split_tokens

INITIAL_STATES = "zero", "warm", "carry"
WARM_UP = "The committee said on Monday that it would publish the full report , with all of its \
findings , before the end of the year .".split()


@keras.saving.register_keras_serializable(package="tfreps")
class BiLM(PublishedBiLM, WholeModel, keras.Model):
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
        super().__init__(autocast=False, **kwargs)  # states stay float32
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
        common = {"dtype": self.dtype_policy, "trainable": self.trainable}
        if vocabulary_size is None:
            options = shared_options(self, CharCNNEncoder)
            self.token_encoder = CharCNNEncoder(**options, **common, name="token_encoder")
            self.token_encoder.build((None, None, max_characters))
        else:
            self.token_encoder = keras.layers.Embedding(
                vocabulary_size + 1,
                projection_dim,
                "glorot_uniform",
                trainable=self.trainable,
                dtype=self.variable_dtype,
                name="token_encoder",
            )
            self.token_encoder.build((None, None))
        self.bilstm = ElmoBiLSTM(**shared_options(self, ElmoBiLSTM), **common, name="bilstm")
        self.bilstm.build((None, None, projection_dim))
        rows = {"zero": 0, "warm": 1, "carry": max_batch_size}[initial_state]
        self.kept_states = self._add_states(rows)
        self.output_dim = projection_dim * len(self.bilstm.directions)
        self.built = True

    def call(
        self,
        inputs: Features,
        initial_state: Mapping[str, tf.Tensor] | None = None,
        training: bool = False,
    ) -> Outputs:
        ids = self._to_ids(inputs)
        mask = tf.not_equal(ids, 0) if ids.shape.rank == 2 else tf.reduce_any(ids != 0, -1)
        ids, full_mask = self._with_boundaries(ids, self._lengths(mask))
        distinct = self._encode_distinct(ids)  # [D, P], [B, T+2]
        tokens = tf.gather(*distinct)  # [B, T+2, P]
        if initial_state is None:
            start = self._fixed_state(tf.shape(ids)[0])
        else:
            start = unflatten_states([initial_state[name] for name in self._state_names])
        layers, state = self.bilstm(
            tokens, mask=full_mask, initial_state=start, training=training, distinct=distinct
        )
        both = tf.concat([tokens] * len(self.bilstm.directions), axis=-1)
        layers = tf.concat([both[:, None], layers], axis=1)  # [B, L+1, T+2, 2P]
        if self.initial_state == "carry" and initial_state is None:
            self._keep(state)
        inner = tf.where(
            tf.expand_dims(tf.expand_dims(mask, 1), -1), layers[:, :, 1:-1], 0.0
        )  # [B, L+1, T, 2P]
        return {
            "layer_outputs": inner,
            "sequence_output": inner[:, -1],
            "mask": mask,
            "layer_outputs_with_boundaries": layers,
            "mask_with_boundaries": full_mask,
            **dict(zip(self._state_names, flatten_states(state), strict=True)),
        }

    @property
    def _ids_name(self):
        """Name of the feature that the model reads: `"character_ids"` or `"token_ids"`."""
        return "character_ids" if self.vocabulary_size is None else "token_ids"

    @property
    def _carries_state(self):
        """True if `initial_state` is `"carry"`; see `WholeModel._carries_state`."""
        return self.initial_state == "carry"

    @property
    def _state_names(self):
        """Names of the final states in the output: a hidden and a cell state per direction."""
        return list(self._state_shapes)

    @property
    def _state_shapes(self):
        """Shape `(num_layers, width)` of each of the final states of a sentence, by name."""
        directions = ["forward", "backward"] if self.bidirectional else ["forward"]
        widths = {"hidden": self.projection_dim, "cell": self.units}
        return {
            f"{direction}_{part}": (self.num_layers, width)
            for direction in directions
            for part, width in widths.items()
        }

    def _input_signatures(self):
        """Returns the input specs: the ids, by themselves or in a dict (see `WholeModel`)."""
        sizes = [self.max_characters] if self.vocabulary_size is None else []
        return [feature("ids", *sizes), {self._ids_name: feature(self._ids_name, *sizes)}]

    def encode_tokens(self, ids: Array) -> tf.Tensor:
        """Computes context-free token vectors.

        Args:
            ids: int. Character ids `[..., C]`, or token ids `[...]` for a token model.

        Returns:
            float32, shape `[..., P]`.

        Raises:
            tf.errors.InvalidArgumentError: If an id is out of range.
        """
        return tf.gather(*self._encode_distinct(ids))

    def _encode_distinct(self, ids):
        """Computes the context-free vector of each distinct token once.

        Args:
            ids: int, as for `encode_tokens`.

        Returns:
            Tuple `(vectors, which)`: float32 `[D, P]` and int32 `[...]`. `encode_tokens` returns
            `tf.gather(vectors, which)`.
        """
        if self.vocabulary_size is None:
            return self.token_encoder._encode_distinct(ids)
        # Each distinct row is looked up once, so that the sparse gradient has distinct rows.
        distinct, which = distinct_rows(tf.reshape(ids, [-1]))
        message = f"Token ids must lie in 0..{self.vocabulary_size}."
        distinct = checked_ids(distinct, self.vocabulary_size + 1, message)
        vectors = tf.cast(self.token_encoder(distinct), "float32")
        vectors = tf.where((distinct != 0)[:, None], vectors, 0.0)
        return vectors, tf.ensure_shape(tf.reshape(which, tf.shape(ids)), ids.shape)

    def reset_states(self) -> None:
        """Resets the carried states, so that the next batch starts from zeros.

        Raises:
            ValueError: If `initial_state` is not `"carry"`.
        """
        if self.initial_state != "carry":
            raise ValueError(
                '`reset_states` needs a model with `initial_state="carry"`; this model has '
                f'{self.initial_state!r}. Use the copy that `with_initial_state("carry")` returns.'
            )
        for state in self.kept_states:
            state.assign(tf.zeros_like(state))

    def warm_up(self, ids: Features | None = None) -> None:
        """Reads one sentence and stores its final state, from which each batch then starts.

        Args:
            ids: int, shape `[1, T, C]` (for a token model, `[1, T]`), or one sentence in another
                form that `call` accepts. If `None` (the default), an English sentence of ordinary
                length is used, or, for a token model, a sentence without tokens.

        Raises:
            ValueError: If `initial_state` is not `"warm"`.
        """
        if self.initial_state != "warm":
            raise ValueError(
                '`warm_up` needs a model with `initial_state="warm"`; this model has '
                f'{self.initial_state!r}. Use the copy that `with_initial_state("warm")` returns.'
            )
        if ids is None:
            reads_text = self.vocabulary_size is None
            ids = tf.constant([WARM_UP]) if reads_text else tf.zeros([1, 0], "int32")
        zeros = dict(zip(self._state_names, map(tf.zeros_like, self.kept_states), strict=True))
        output = self(ids, initial_state=zeros)
        for name, state in zip(self._state_names, self.kept_states, strict=True):
            state.assign(output[name])

    def with_initial_state(self, initial_state: InitialState) -> "BiLM":
        """Returns a copy of this model with a different `initial_state`.

        Args:
            initial_state: `"zero"`, `"warm"` or `"carry"`; see `BiLM`. With `"warm"`, `warm_up` is
                called on the copy and reads the default sentence.

        Returns:
            `BiLM`.

        Raises:
            ValueError: If `initial_state` is invalid.
        """
        copy = type(self).from_config({**self.get_config(), "initial_state": initial_state})
        copy_weights(copy, self, parts=["token_encoder", "bilstm"])
        if initial_state == "warm":
            copy.warm_up()
        return copy

    def _to_ids(self, inputs):
        mask = None
        if isinstance(inputs, dict):
            check_features(inputs, [self._ids_name], self.name)
            inputs, mask = inputs[self._ids_name], inputs.get("mask")
        ids = self._checked(tf.convert_to_tensor(inputs))
        if mask is None:
            return ids
        mask = tf.cast(mask, "bool")
        return tf.where(tf.expand_dims(mask, -1) if ids.shape.rank == 3 else mask, ids, 0)

    def _checked(self, ids):
        """Converts strings or ids to int32 ids and checks their shape and type."""
        if ids.dtype == tf.string:
            if self.vocabulary_size is not None:
                raise ValueError(
                    "`inputs` must be token ids [B, T], because this biLM has a `vocabulary_size` "
                    f"and does not accept strings; got strings of shape {ids.shape}. Convert "
                    "tokens to ids with `tfreps.text.TokenIndexer`."
                )
            if ids.shape.rank == 1:
                ids = split_tokens(ids)  # [B, T]
            ids = character_ids(ids, self.max_characters)
        expected = 3 if self.vocabulary_size is None else 2
        if ids.shape.rank != expected:
            wanted = "[B, T, C] (character ids)" if expected == 3 else "[B, T] (token ids)"
            raise ValueError(f"`inputs` must have shape {wanted}; got {ids.shape}.")
        if expected == 3 and ids.shape[-1] not in (None, self.max_characters):
            raise ValueError(
                f"`inputs` must have {self.max_characters} character ids per token; "
                f"got {ids.shape[-1]}."
            )
        if not ids.dtype.is_integer:
            raise ValueError(
                f"`inputs` must be integers; got {ids.dtype.name}. For a functional model, use "
                'keras.Input(..., dtype="int32").'
            )
        # Ids beyond int32 are clipped to values that the encoder still rejects as out of range.
        largest = min(ids.dtype.max, tf.int32.max)
        return tf.cast(tf.clip_by_value(ids, max(ids.dtype.min, -1), largest), "int32")

    def _with_boundaries(self, ids, lengths):
        """Adds a start and an end to sentences whose padding comes last.

        Args:
            ids: int32, shape `[B, T, C]` (for a token model, `[B, T]`). 0 on padding.
            lengths: int32, shape `[B]`. Number of tokens of each sentence.

        Returns:
            Tuple of the ids, `[B, T+2, C]` or `[B, T+2]`, and their mask, bool `[B, T+2]`.
        """
        if self.vocabulary_size is not None:
            return add_boundaries(ids, lengths, self.sentence_start_id, self.sentence_end_id)
        size = self.max_characters
        return add_boundaries(ids, lengths, sentence_start_ids(size), sentence_end_ids(size))

    def _lengths(self, mask):
        """Returns the number of tokens of each sentence, int32 `[B]`; padding must come last."""
        lengths = tf.reduce_sum(tf.cast(mask, "int32"), axis=1)  # [B]
        tf.debugging.assert_equal(
            mask,
            tf.sequence_mask(lengths, tf.shape(mask)[1]),
            'Padding (id 0, or "" in string tensors) must come after the tokens of a sentence.',
        )
        return lengths

    def _fixed_state(self, batch_size):
        """Returns the state that `initial_state` sets for a batch: a tuple of `LSTMState`."""
        if self.initial_state == "zero":
            return tuple(d.get_initial_state(batch_size) for d in self.bilstm.directions)
        kept = [tf.convert_to_tensor(state) for state in self.kept_states]
        if self.initial_state == "warm":
            return unflatten_states([tf.repeat(state, batch_size, axis=0) for state in kept])
        tf.debugging.assert_less_equal(
            batch_size,
            self.max_batch_size,
            'With `initial_state="carry"`, a batch must have at most `max_batch_size` rows. Use a '
            "smaller batch, or increase `max_batch_size`.",
        )
        return unflatten_states([state[:batch_size] for state in kept])

    def _keep(self, state):
        """Stores the final states of the batch. States of rows beyond the batch do not change."""
        for kept, new in zip(self.kept_states, flatten_states(state), strict=True):
            kept.assign(tf.concat([new, tf.convert_to_tensor(kept)[tf.shape(new)[0] :]], 0))

    def _add_states(self, rows):
        if not rows:
            return []
        kind = {"initializer": "zeros", "dtype": "float32", "trainable": False, "autocast": False}
        return [
            self.add_weight((rows, *shape), name=f"{self.initial_state}_{name}", **kind)
            for name, shape in self._state_shapes.items()
        ]


def _check(model):
    check_choice(INITIAL_STATES, initial_state=model.initial_state)
    check_integers(1, max_batch_size=model.max_batch_size)
    check_integers(3, max_characters=model.max_characters)
    if model.vocabulary_size is not None:
        check_integers(1, vocabulary_size=model.vocabulary_size)
        boundaries = model.sentence_start_id, model.sentence_end_id
        if not all(1 <= id_ <= model.vocabulary_size for id_ in boundaries):
            raise ValueError(
                "`sentence_start_id` and `sentence_end_id` must be from 1 to `vocabulary_size` "
                f"({model.vocabulary_size}); got {boundaries[0]} and {boundaries[1]}."
            )
