"""BiGRU: one bidirectional GRU layer that accepts padding at any position."""

import keras

from tfreps._src.layers.bidirectional_rnn import BidirectionalRNN
from tfreps._src.layers.ops.gru import gru


@keras.saving.register_keras_serializable(package="tfreps")
class BiGRU(BidirectionalRNN):
    """Bidirectional GRU layer that concatenates the outputs of both directions.

        output[t] = [forward[t], backward[t]]

    The cell computes the same values as `keras.layers.GRU` with its default `reset_after=True`:

        z = sigmoid(x_t @ W_z + b_z + h_{t-1} @ R_z + c_z)
        r = sigmoid(x_t @ W_r + b_r + h_{t-1} @ R_r + c_r)
        n = tanh(x_t @ W_n + b_n + r * (h_{t-1} @ R_n + c_n))
        h_t = z * h_{t-1} + (1 - z) * n

    Unlike in Keras, padding may be at any position on any device.

    Args:
        units: int. Width of the hidden state of each direction.

    Call arguments:
        inputs: float, shape `[B, T, D]`.
        mask: bool, shape `[B, T]`. True on real tokens, which may be at any position. If `None`,
            all tokens are real.
        training: bool. Has no effect. Defaults to `False`.

    Returns:
        Tuple `(outputs, last)`. `outputs` is float32 `[B, T, 2 * units]`, zero on padding. `last`
        is float32 `[B, 2 * units]`: the forward state after the last real token and the backward
        state after the first, both zero for a sentence without tokens.

    Masking: padding before, between and after tokens leaves the state unchanged.

    Raises:
        ValueError: If `units` is not an integer of at least 1, or `mask` has the wrong shape.

    Reference: Cho et al., 2014, "Learning Phrase Representations using RNN Encoder-Decoder for
    Statistical Machine Translation".

    Example:
    >>> import tensorflow as tf
    >>> outputs, last = BiGRU(units=4)(tf.ones([2, 3, 5]))
    >>> outputs.shape, bool(tf.reduce_all(outputs[:, -1, :4] == last[:, :4]))
    (TensorShape([2, 3, 8]), True)
    """

    _num_gates = 3
    _bias_rows = (2,)

    def _run(self, direction, x, real, training):
        del training
        parts = self.kernels, self.recurrent_kernels, self.biases
        return gru(x, real, *(part[direction] for part in parts), self.compute_dtype)
