"""ElmoBiLSTM: two stacks of projected LSTMs, one a direction, and every layer's output."""

from typing import NamedTuple

import keras
import tensorflow as tf

from tfreps.layers.ops.configurable import Configurable
from tfreps.layers.ops.projected_lstm import projected_lstm


class LSTMState(NamedTuple):
    """State of a stack of LSTM layers: `hidden` `[B, L, H]` and `cell` `[B, L, U]`."""

    hidden: tf.Tensor
    cell: tf.Tensor


@keras.saving.register_keras_serializable(package="tfreps")
class ElmoLSTM(Configurable, keras.layers.Layer):
    """A stack of projected, clipped LSTM layers that reads in one direction.

    Layer 0 reads the token vectors; layer `l > 0` reads the output of the one below,

        output_l = h_l + input_l        (with skip connections, from the second layer on)

    where `h_l` is the hidden state of `projected_lstm`. The recurrence sees `h_l` alone.
    Dropout falls on the input of every layer, before the skip connection branches off.

    Args:
        units: int. Width of the cell state.
        projection_dim: int. Width of token vectors and hidden states; where it equals
            `units` there is no projection. It may not be larger.
        num_layers: int, at least 1.
        cell_clip: float or None. Bound of the cell state.
        projection_clip: float or None. Bound of the projected hidden state; has no effect
            without a projection, as in bilm-tf.
        use_skip_connections: bool.
        dropout: float in [0, 1). Share of each layer's inputs set to zero in training.
        seed: int or None. Seed of the dropout.

    Call arguments:
        inputs: float, shape `[B, T, P]` with `P = projection_dim`.
        mask: bool, shape `[B, T]`, True on real tokens, which come first; None for all.
        initial_state: `LSTMState`; None for zeros.
        training: bool. Whether dropout is active.

    Returns:
        Layer outputs float32 `[B, L, T, P]` (zero on padding), and the `LSTMState` after
        each sentence's last real token.

    Reference: bilm-tf; the cell in `projected_lstm`.

    Example:
    >>> lstm = ElmoLSTM(units=8, projection_dim=4, num_layers=2)
    >>> outputs, state = lstm(tf.ones([3, 5, 4]))
    >>> outputs.shape, state.cell.shape
    (TensorShape([3, 2, 5, 4]), TensorShape([3, 2, 8]))
    """

    def __init__(
        self,
        units,
        projection_dim,
        num_layers=2,
        cell_clip=3.0,
        projection_clip=3.0,
        use_skip_connections=True,
        dropout=0.0,
        seed=None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        _check_sizes(units, projection_dim, num_layers, dropout)
        _check_clips(cell_clip=cell_clip, projection_clip=projection_clip)
        self.units = units
        self.projection_dim = projection_dim
        self.num_layers = num_layers
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.use_skip_connections = use_skip_connections
        self.dropout = dropout
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True
        self.supports_jit = False  # the loop is slower under XLA

    def build(self, input_shape):
        dim = self.projection_dim
        units = self.units
        self.kernels = []
        self.biases = []
        self.projections = []
        for layer in range(self.num_layers):
            self.kernels.append(
                self._add(f"kernel_{layer}", (2 * dim, 4 * units), "glorot_uniform")
            )
            self.biases.append(self._add(f"bias_{layer}", (4 * units,), "zeros"))
            if dim != units:
                shape = (units, dim)
                self.projections.append(self._add(f"projection_{layer}", shape, "glorot_uniform"))

    def call(self, inputs, mask=None, initial_state=None, training=False):
        x = tf.transpose(tf.cast(inputs, "float32"), [1, 0, 2])  # [T, B, P]
        if mask is not None:
            mask = tf.transpose(tf.cast(mask, "float32"))[:, :, None]  # [T, B, 1]
        state = self.zero_state(tf.shape(inputs)[0]) if initial_state is None else initial_state
        outputs = []
        hidden = []
        cell = []
        for layer in range(self.num_layers):
            if training and self.dropout:
                x = keras.random.dropout(x, self.dropout, seed=self.seed_generator)
            y, last_hidden, last_cell = self._run(layer, x, mask, state, training)
            x = y + x if layer > 0 and self.use_skip_connections else y  # [T, B, P]
            if layer > 0 and self.use_skip_connections and mask is not None:
                x *= mask
            outputs.append(x)
            hidden.append(last_hidden)
            cell.append(last_cell)
        outputs = tf.transpose(tf.stack(outputs), [2, 0, 1, 3])  # [B, L, T, P]
        return outputs, LSTMState(tf.stack(hidden, 1), tf.stack(cell, 1))

    def zero_state(self, batch_size):
        """The `LSTMState` of `batch_size` sentences that have read nothing."""
        shape = [batch_size, self.num_layers]
        return LSTMState(tf.zeros([*shape, self.projection_dim]), tf.zeros([*shape, self.units]))

    def compute_output_shape(self, input_shape, **kwargs):
        batch, steps, dim = input_shape
        state = LSTMState((batch, self.num_layers, dim), (batch, self.num_layers, self.units))
        return (batch, self.num_layers, steps, dim), state

    def _run(self, layer, x, mask, state, training):
        projection = self.projections[layer] if self.projections else None
        options = {
            "cell_clip": self.cell_clip,
            "projection_clip": self.projection_clip if self.projections else None,
            "compute_dtype": self.compute_dtype,
        }
        return projected_lstm(
            x,
            mask,
            state.hidden[:, layer],
            state.cell[:, layer],
            self.kernels[layer],
            self.biases[layer],
            projection,
            options,
            training,
        )

    def _add(self, name, shape, initializer):
        return self.add_weight(name=name, shape=shape, initializer=initializer, autocast=False)


@keras.saving.register_keras_serializable(package="tfreps")
class ElmoBiLSTM(Configurable, keras.layers.Layer):
    """A forward and a backward `ElmoLSTM`, joined only in the output.

        output_l[t] = [forward_l[t], backward_l[t]]

    Args:
        units, projection_dim, num_layers, cell_clip, projection_clip,
            use_skip_connections, dropout: as in `ElmoLSTM`.
        bidirectional: bool. False for a forward stack alone.

    Call arguments:
        inputs: float, shape `[B, T, P]`.
        mask: bool, shape `[B, T]`, True on real tokens, which come first; None for all.
            The backward stack starts at each sentence's last real token.
        initial_state: tuple of one `LSTMState` per direction; None for zeros.
        training: bool. Whether dropout is active.

    Returns:
        Layer outputs float32 `[B, L, T, 2P]` (zero on padding; `[B, L, T, P]` for one
        direction), and a tuple of the last `LSTMState` of each direction.

    Reference: Peters et al., 2018, "Deep contextualized word representations", section 3.1.

    Example:
    >>> bilstm = ElmoBiLSTM(units=8, projection_dim=4)
    >>> outputs, (forward, backward) = bilstm(tf.ones([3, 5, 4]))
    >>> outputs.shape, backward.hidden.shape
    (TensorShape([3, 2, 5, 8]), TensorShape([3, 2, 4]))
    """

    def __init__(
        self,
        units,
        projection_dim,
        num_layers=2,
        cell_clip=3.0,
        projection_clip=3.0,
        use_skip_connections=True,
        dropout=0.0,
        bidirectional=True,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.units = units
        self.projection_dim = projection_dim
        self.num_layers = num_layers
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.use_skip_connections = use_skip_connections
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.supports_masking = True
        self.supports_jit = False
        self.directions = [self._direction("forward")]
        if bidirectional:
            self.directions.append(self._direction("backward"))

    def build(self, input_shape):
        for direction in self.directions:
            direction.build(input_shape)

    def call(self, inputs, mask=None, initial_state=None, training=False):
        outputs = []
        states = []
        for number, direction in enumerate(self.directions):
            x = inputs if number == 0 else reverse_tokens(inputs, mask)
            state = None if initial_state is None else initial_state[number]
            output, state = direction(x, mask=mask, initial_state=state, training=training)
            if number == 1:
                steps_first = tf.transpose(output, [0, 2, 1, 3])  # [B, T, L, P]
                output = tf.transpose(reverse_tokens(steps_first, mask), [0, 2, 1, 3])
            outputs.append(output)
            states.append(state)
        return tf.concat(outputs, axis=-1), tuple(states)  # [B, L, T, 2P]

    def compute_output_shape(self, input_shape, **kwargs):
        shapes = [direction.compute_output_shape(input_shape) for direction in self.directions]
        batch, num_layers, steps, dim = shapes[0][0]
        return (batch, num_layers, steps, dim * len(shapes)), tuple(s for _, s in shapes)

    def _direction(self, name):
        return ElmoLSTM(
            units=self.units,
            projection_dim=self.projection_dim,
            num_layers=self.num_layers,
            cell_clip=self.cell_clip,
            projection_clip=self.projection_clip,
            use_skip_connections=self.use_skip_connections,
            dropout=self.dropout,
            trainable=self.trainable,
            dtype=self.dtype_policy,
            name=name,
        )


def reverse_tokens(x, mask):
    """Reverses the real tokens of `x` `[B, T, ...]` in place; padding stays at the end."""
    if mask is None:
        return tf.reverse(x, [1])
    lengths = tf.reduce_sum(tf.cast(mask, "int32"), axis=1)  # [B]
    return tf.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0)


def flatten_states(states):
    """A tuple of `LSTMState` as a list: hidden and cell of each direction in turn."""
    return [part for state in states for part in state]


def unflatten_states(parts):
    """The tuple of `LSTMState` that `flatten_states` made a list of."""
    return tuple(LSTMState(*parts[i : i + 2]) for i in range(0, len(parts), 2))


def _check_clips(**clips):
    for name, clip in clips.items():
        if clip is not None and not clip > 0:
            raise ValueError(f"`{name}` must be positive, or None for no clip; got {clip}.")


def _check_sizes(units, projection_dim, num_layers, dropout):
    if not all(isinstance(size, int) for size in (units, projection_dim, num_layers)):
        raise ValueError(
            "`units`, `projection_dim` and `num_layers` must be whole numbers; "
            f"got {units!r}, {projection_dim!r} and {num_layers!r}."
        )
    if min(units, projection_dim, num_layers) < 1:
        raise ValueError(
            "`units`, `projection_dim` and `num_layers` must be positive; "
            f"got {units}, {projection_dim} and {num_layers}."
        )
    if projection_dim > units:
        raise ValueError(
            f"`projection_dim` may not be larger than `units`; got {projection_dim} and {units}."
        )
    if not 0 <= dropout < 1:
        raise ValueError(f"`dropout` must be at least 0 and below 1; got {dropout}.")
