"""AnyBiLM: base class of biLMs, with `call` and the LSTM states that it starts from."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_integers
from tfreps._src.layers.elmo_bilstm import ElmoBiLSTM, flatten_states, unflatten_states
from tfreps._src.layers.ops.annotations import Array, Features, Outputs
from tfreps._src.layers.ops.configurable import shared_options
from tfreps._src.layers.ops.masks import after
from tfreps._src.models.copy_weights import copy_weights
from tfreps._src.models.features import check_features, feature
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.text.char_ids import add_boundaries

InitialState = Literal["zero", "warm", "carry"]
INITIAL_STATES = "zero", "warm", "carry"
Copy = TypeVar("Copy", bound="AnyBiLM")


class AnyBiLM(WholeModel, keras.Model):
    """Base class of `BiLM` and `ManyLangsBiLM`, which differ in their ids and token vectors.

    A subclass sets its options as attributes and then calls `_add_layers`. It defines `_ids_name`,
    `_ids_sizes`, `_boundary_ids` and `_of_strings`, and may override `_encode_distinct`.
    """

    units: int
    projection_dim: int
    num_layers: int
    initial_state: InitialState
    max_batch_size: int

    def _add_layers(self, token_encoder: keras.layers.Layer) -> None:
        """Builds the token encoder and the LSTMs, and creates variables for the stored states."""
        check_choice(INITIAL_STATES, initial_state=self.initial_state)
        check_integers(1, max_batch_size=self.max_batch_size)
        self.token_encoder = token_encoder
        token_encoder.build((None, None, *self._ids_sizes))
        common = {"dtype": self.dtype_policy, "trainable": self.trainable}
        self.bilstm = ElmoBiLSTM(**shared_options(self, ElmoBiLSTM), **common, name="bilstm")
        self.bilstm.build((None, None, self.projection_dim))
        rows = {"zero": 0, "warm": 1, "carry": self.max_batch_size}[self.initial_state]
        self.kept_states = self._add_states(rows)
        self.output_dim = self.projection_dim * len(self.bilstm.directions)
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
    def _ids_name(self) -> str:
        """Name of the feature that the model reads, such as `"character_ids"`."""
        raise NotImplementedError

    @property
    def _ids_sizes(self) -> list[int]:
        """Shape of the ids of a token: `[C]`, or `[]` for a model that reads one id per token."""
        raise NotImplementedError

    def _boundary_ids(self) -> tuple[Any, Any]:
        """Returns the ids of the sentence start and end: a tuple of two int32 `[C]` or two ints."""
        raise NotImplementedError

    def _of_strings(self, strings: tf.Tensor) -> tf.Tensor:
        """Converts strings to the ids that the model reads.

        Args:
            strings: str. Tokens `[B, T]`, or sentences `[B]`, which are split at white space.

        Returns:
            int32, shape `[B, T, C]` (with one id per token, `[B, T]`). 0 on padding.

        Raises:
            ValueError: If the model cannot convert strings to ids.
        """
        raise NotImplementedError

    @property
    def _carries_state(self):
        """True if `initial_state` is `"carry"`; see `WholeModel._carries_state`."""
        return self.initial_state == "carry"

    @property
    def _state_names(self):
        """List of the names of the final states in the output, such as `"forward_hidden"`."""
        return list(self._state_shapes)

    @property
    def _state_shapes(self):
        """Dict from the name of each final state to its shape for one sentence, `[L, width]`."""
        directions = ["forward", "backward"][: len(self.bilstm.directions)]
        widths = {"hidden": self.projection_dim, "cell": self.units}
        return {
            f"{direction}_{part}": (self.num_layers, width)
            for direction in directions
            for part, width in widths.items()
        }

    def _input_signatures(self):
        """Returns the input specs; see `WholeModel._input_signatures`."""
        return [feature("ids", *self._ids_sizes), {self._ids_name: self._ids_spec()}]

    def _ids_spec(self) -> tf.TensorSpec:
        """Returns the spec of the feature that the model reads."""
        return feature(self._ids_name, *self._ids_sizes)

    def encode_tokens(self, ids: Array) -> tf.Tensor:
        """Computes context-free token vectors.

        Args:
            ids: int. Ids of tokens, `[..., C]`, or `[...]` for a model that reads token ids.

        Returns:
            float32, shape `[..., P]`, where `P` is `projection_dim`.

        Raises:
            tf.errors.InvalidArgumentError: If an id is out of range.
        """
        return tf.gather(*self._encode_distinct(ids))

    def _encode_distinct(self, ids):
        """Computes the context-free vector of each distinct token once.

        Args:
            ids: int, as for `encode_tokens`.

        Returns:
            Tuple `(vectors, which)`. `vectors` is float32 `[D, P]`, the vectors of the D distinct
            tokens. `which` is int32 `[...]`, the row of `vectors` that belongs to each token.
            `encode_tokens` returns `tf.gather(vectors, which)`.
        """
        return self.token_encoder._encode_distinct(ids)

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
            ids: int, shape `[1, T, C]` (for a model that reads token ids, `[1, T]`), or one
                sentence in another form that `call` accepts. If `None` (the default), an English
                sentence of ordinary length is used, or, for a model that does not read strings, a
                sentence without tokens.

        Raises:
            ValueError: If `initial_state` is not `"warm"`.
        """
        if self.initial_state != "warm":
            raise ValueError(
                '`warm_up` needs a model with `initial_state="warm"`; this model has '
                f'{self.initial_state!r}. Use the copy that `with_initial_state("warm")` returns.'
            )
        if ids is None:
            ids = self._warm_up_sentence()
        zeros = dict(zip(self._state_names, map(tf.zeros_like, self.kept_states), strict=True))
        output = self(ids, initial_state=zeros)
        for name, state in zip(self._state_names, self.kept_states, strict=True):
            state.assign(output[name])

    def _warm_up_sentence(self) -> tf.Tensor:
        """Returns the default sentence of `warm_up`: no tokens, int32 `[1, 0]` or `[1, 0, C]`."""
        return tf.zeros([1, 0, *self._ids_sizes], "int32")

    def with_initial_state(self: Copy, initial_state: InitialState) -> Copy:
        """Returns a copy of this model, with its weights, that has a different `initial_state`.

        Args:
            initial_state: `"zero"`, `"warm"` or `"carry"`; see `BiLM`. With `"warm"`, `warm_up` is
                called on the copy and reads the default sentence.

        Returns:
            The copy.

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
        """Converts strings or ids to int32 ids, `[B, T, C]` or `[B, T]`.

        Raises a ValueError if the shape or the dtype is wrong.
        """
        if ids.dtype == tf.string:
            ids = self._of_strings(ids)
        what, sizes = self._ids_name.replace("_", " "), self._ids_sizes
        if ids.shape.rank != 2 + len(sizes):
            wanted = f"[B, T{', C' * len(sizes)}] ({what})"
            raise ValueError(f"`inputs` must have shape {wanted}; got {ids.shape}.")
        if sizes and ids.shape[-1] not in (None, *sizes):
            raise ValueError(
                f"`inputs` must have {sizes[0]} {what} per token; got {ids.shape[-1]}."
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
        """Adds a sentence start and a sentence end to each sentence. Padding must come last.

        Args:
            ids: int32, shape `[B, T, C]` (with one id per token, `[B, T]`). 0 on padding.
            lengths: int32, shape `[B]`. Number of tokens of each sentence.

        Returns:
            Tuple `(ids, mask)`. `ids` is int32 `[B, T+2, C]` or `[B, T+2]`. `mask` is bool
            `[B, T+2]`, True on real tokens and on the added boundaries.
        """
        return add_boundaries(ids, lengths, *self._boundary_ids())

    def _lengths(self, mask):
        """Returns the number of tokens of each sentence, int32 `[B]`.

        `mask` is bool `[B, T]`. Padding before a token raises an InvalidArgumentError.
        """
        lengths = tf.reduce_sum(tf.cast(mask, "int32"), axis=1)  # [B]
        check = tf.debugging.assert_equal(
            mask,
            tf.sequence_mask(lengths, tf.shape(mask)[1]),
            'Padding (id 0, or "" in string tensors) must come after the tokens of a sentence.',
        )
        return after(check, lengths)

    def _fixed_state(self, batch_size):
        """Returns the initial states of a batch, as a tuple of one `LSTMState` per direction."""
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
        """Stores the final states of a batch.

        If the batch has fewer rows than the stored states, the remaining stored rows do not change.
        """
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
