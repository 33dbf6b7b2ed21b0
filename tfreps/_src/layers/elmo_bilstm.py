"""ElmoBiLSTM: ELMo's stacks of projected LSTMs, returning the output of every layer."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_dropout, check_integers, check_positive
from tfreps._src.layers.ops.annotations import Shape
from tfreps._src.layers.ops.configurable import Configurable, shared_options
from tfreps._src.layers.ops.projected_lstm import projected_lstm


class LSTMState(NamedTuple):
    """State of a stack of LSTM layers.

    Args:
        hidden: float32, shape `[B, L, P]`. Hidden states of the `L` layers, with
            `P = projection_dim`.
        cell: float32, shape `[B, L, U]`. Cell states of the `L` layers, with `U = units`.
    """

    hidden: tf.Tensor
    cell: tf.Tensor


@keras.saving.register_keras_serializable(package="tfreps")
class ElmoLSTM(Configurable, keras.layers.Layer):
    """Unidirectional stack of LSTM layers with projections and clipped states.

    Layer 0 reads the token vectors; layer `l > 0` reads the output of the layer below. The outputs
    are

        output_0 = h_0
        output_l = h_l + input_l        for l > 0; without skip connections, h_l

    where `h_l` is the hidden state of the LSTM cell. The recurrence uses `h_l` without the
    skip connection. Dropout is applied to the input of every layer, before the skip connection
    branches off.

    Args:
        units: int. Width of the cell state.
        projection_dim: int. Width of the token vectors and the hidden states. It must not
            exceed `units`. If it equals `units`, there is no projection.
        num_layers: int. Number of LSTM layers, at least 1. Defaults to 2.
        cell_clip: float. Bound on the absolute value of the cell state. If `None`, the cell state
            is not clipped. Defaults to 3.0.
        projection_clip: float. Bound on the absolute value of the projected hidden state. If
            `None`, the hidden state is not clipped. As in bilm-tf, this option has no effect
            without a projection. Defaults to 3.0.
        use_skip_connections: bool. Whether to add the input of each layer to its output, from the
            second layer on. Defaults to `True`.
        dropout: float in [0, 1). Dropout rate of the input of each layer. Defaults to 0.0.
        seed: int. Random seed for dropout. If `None`, a random seed is used. Defaults to `None`.

    Call arguments:
        inputs: float, shape `[B, T, P]` with `P = projection_dim`.
        mask: bool, shape `[B, T]`. True on real tokens, which must precede the padding. If
            `None`, all tokens are real.
        initial_state: `LSTMState` before the first token. If `None`, the state is zero.
        training: bool. Whether to apply dropout. Defaults to `False`.
        distinct: tuple `(vectors, which)`, float32 `[D, P]` and int32 `[B, T]`, with
            `inputs = tf.gather(vectors, which)` on real tokens. If given, the first layer
            multiplies each of these vectors by the kernel only once, unless dropout is applied.
            Defaults to `None`.

    Returns:
        Tuple `(outputs, state)`. `outputs` is float32 `[B, L, T, P]`: the output of each layer,
        zero on padding. `state` is the `LSTMState` after the last real token of each sentence.

    Raises:
        ValueError: If an option is invalid, or the width of the inputs is not `projection_dim`.

    Reference: bilm-tf. The equations of the cell are in `layers/ops/projected_lstm.py`.

    Example:
    >>> lstm = ElmoLSTM(units=8, projection_dim=4, num_layers=2)
    >>> outputs, state = lstm(tf.ones([3, 5, 4]))
    >>> outputs.shape, state.cell.shape
    (TensorShape([3, 2, 5, 4]), TensorShape([3, 2, 8]))
    """

    def __init__(
        self,
        units: int,
        projection_dim: int,
        num_layers: int = 2,
        cell_clip: float | None = 3.0,
        projection_clip: float | None = 3.0,
        use_skip_connections: bool = True,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, units=units, projection_dim=projection_dim, num_layers=num_layers)
        if projection_dim > units:
            raise ValueError(
                f"`projection_dim` must not be larger than `units` ({units}); got {projection_dim}."
            )
        check_dropout(dropout=dropout)
        check_positive(cell_clip=cell_clip, projection_clip=projection_clip, or_none=True)
        self.units = units
        self.projection_dim = projection_dim
        self.num_layers = num_layers
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.use_skip_connections = use_skip_connections
        self.dropout = dropout
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: projection_dim})
        self.supports_masking = True
        self.supports_jit = False  # the loop is slower under XLA

    def build(self, input_shape: Shape) -> None:
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

    def call(
        self,
        inputs: tf.Tensor,
        mask: tf.Tensor | None = None,
        initial_state: LSTMState | None = None,
        training: bool = False,
        distinct: tuple[tf.Tensor, tf.Tensor] | None = None,
    ) -> tuple[tf.Tensor, LSTMState]:
        x = tf.transpose(tf.cast(inputs, "float32"), [1, 0, 2])  # [T, B, P]
        if distinct is not None:
            vectors, which = distinct
            distinct = tf.cast(vectors, "float32"), tf.transpose(which)  # [D, P], [T, B]
        if mask is not None:
            mask = tf.expand_dims(tf.transpose(tf.cast(mask, "float32")), -1)  # [T, B, 1]
        state = (
            self.get_initial_state(tf.shape(inputs)[0]) if initial_state is None else initial_state
        )
        outputs = []
        hidden = []
        cell = []
        for layer in range(self.num_layers):
            if training and self.dropout:
                x = keras.random.dropout(x, self.dropout, seed=self.seed_generator)
                distinct = None
            y, last_hidden, last_cell = self._run(layer, x, mask, state, training, distinct)
            # The next layer reads vectors that depend on the context, so none are repeated.
            distinct = None
            x = y + x if layer > 0 and self.use_skip_connections else y  # [T, B, P]
            if layer > 0 and self.use_skip_connections and mask is not None:
                x *= mask
            outputs.append(x)
            hidden.append(last_hidden)
            cell.append(last_cell)
        outputs = tf.transpose(tf.stack(outputs), [2, 0, 1, 3])  # [B, L, T, P]
        return outputs, LSTMState(tf.stack(hidden, 1), tf.stack(cell, 1))

    def get_initial_state(self, batch_size: int | tf.Tensor) -> LSTMState:
        """Returns an `LSTMState` of zeros for `batch_size` sentences."""
        shape = [batch_size, self.num_layers]
        return LSTMState(tf.zeros([*shape, self.projection_dim]), tf.zeros([*shape, self.units]))

    def compute_output_shape(self, input_shape: Shape, **kwargs: Any) -> tuple:
        batch, steps, dim = input_shape
        state = LSTMState((batch, self.num_layers, dim), (batch, self.num_layers, self.units))
        return (batch, self.num_layers, steps, dim), state

    def _run(self, layer, x, mask, state, training, distinct):
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
            distinct,
        )


@keras.saving.register_keras_serializable(package="tfreps")
class ElmoBiLSTM(Configurable, keras.layers.Layer):
    """Forward and backward `ElmoLSTM` stacks, whose outputs are concatenated.

        output_l[t] = [forward_l[t], backward_l[t]]

    Args:
        units, projection_dim, num_layers: Sizes of each direction; see `ElmoLSTM`.
        cell_clip, projection_clip, use_skip_connections, dropout: See `ElmoLSTM`.
        bidirectional: bool. If False, there is only a forward stack. Defaults to `True`.

    Call arguments:
        inputs: float, shape `[B, T, P]` with `P = projection_dim`.
        mask: bool, shape `[B, T]`. True on real tokens, which must precede the padding. If
            `None`, all tokens are real. The backward stack starts at the last real token.
        initial_state: tuple of one `LSTMState` per direction. If `None`, the states are zero.
        training: bool. Whether to apply dropout. Defaults to `False`.
        distinct: tuple of the distinct vectors of the inputs and the row of each token's vector;
            see `ElmoLSTM`. Defaults to `None`.

    Returns:
        Tuple `(outputs, states)`. `outputs` is float32 `[B, L, T, 2P]` (`[B, L, T, P]` if
        `bidirectional` is False): the output of each layer, zero on padding. `states` is a tuple of
        the final `LSTMState` of each direction.

    Raises:
        ValueError: If an option is invalid, or the width of the inputs is not `projection_dim`.

    Reference: Peters et al., 2018, "Deep contextualized word representations", section 3.1.

    Example:
    >>> bilstm = ElmoBiLSTM(units=8, projection_dim=4)
    >>> outputs, (forward, backward) = bilstm(tf.ones([3, 5, 4]))
    >>> outputs.shape, backward.hidden.shape
    (TensorShape([3, 2, 5, 8]), TensorShape([3, 2, 4]))
    """

    def __init__(
        self,
        units: int,
        projection_dim: int,
        num_layers: int = 2,
        cell_clip: float | None = 3.0,
        projection_clip: float | None = 3.0,
        use_skip_connections: bool = True,
        dropout: float = 0.0,
        bidirectional: bool = True,
        **kwargs: Any,
    ) -> None:
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

    def build(self, input_shape: Shape) -> None:
        for direction in self.directions:
            direction.build(input_shape)

    def call(
        self,
        inputs: tf.Tensor,
        mask: tf.Tensor | None = None,
        initial_state: "tuple[LSTMState, ...] | None" = None,
        training: bool = False,
        distinct: tuple[tf.Tensor, tf.Tensor] | None = None,
    ) -> tuple[tf.Tensor, tuple[LSTMState, ...]]:
        outputs = []
        states = []
        for number, direction in enumerate(self.directions):
            x = inputs if number == 0 else reverse_tokens(inputs, mask)
            if number == 1 and distinct is not None:
                distinct = distinct[0], reverse_tokens(distinct[1], mask)
            state = None if initial_state is None else initial_state[number]
            output, state = direction(
                x, mask=mask, initial_state=state, training=training, distinct=distinct
            )
            if number == 1:
                steps_first = tf.transpose(output, [0, 2, 1, 3])  # [B, T, L, P]
                output = tf.transpose(reverse_tokens(steps_first, mask), [0, 2, 1, 3])
            outputs.append(output)
            states.append(state)
        return tf.concat(outputs, axis=-1), tuple(states)  # [B, L, T, 2P]

    def compute_output_shape(self, input_shape: Shape, **kwargs: Any) -> tuple:
        shapes = [direction.compute_output_shape(input_shape) for direction in self.directions]
        batch, num_layers, steps, dim = shapes[0][0]
        return (batch, num_layers, steps, dim * len(shapes)), tuple(s for _, s in shapes)

    def _direction(self, name):
        common = {"trainable": self.trainable, "dtype": self.dtype_policy, "name": name}
        return ElmoLSTM(**shared_options(self, ElmoLSTM), **common)


def reverse_tokens(x, mask):
    """Reverses the order of the real tokens of `x` `[B, T, ...]`; padding stays at the end."""
    if mask is None:
        return tf.reverse(x, [1])
    x = tf.convert_to_tensor(x)
    lengths = tf.reduce_sum(tf.cast(mask, "int32"), axis=1)  # [B]
    if x.dtype != tf.int32:
        return tf.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0)
    positions = tf.range(tf.shape(x)[1])[None]  # ReverseSequence has no GPU kernel for int32
    mirrored = lengths[:, None] - 1 - positions
    return tf.gather(x, tf.where(tf.cast(mask, "bool"), mirrored, positions), batch_dims=1)


def flatten_states(states):
    """Flattens a tuple of `LSTMState` into a list of the `hidden` and `cell` of each direction."""
    return [part for state in states for part in state]


def unflatten_states(parts):
    """Restores the tuple of `LSTMState` from a list that `flatten_states` returned."""
    return tuple(LSTMState(*parts[i : i + 2]) for i in range(0, len(parts), 2))
