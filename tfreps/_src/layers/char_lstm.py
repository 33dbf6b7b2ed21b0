"""CharLSTMEncoder: encodes each token from its character ids with a BiLSTM."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.layers.bilstm import BiLSTM
from tfreps._src.layers.char_cnn import NUM_CHARACTER_IDS, PADDING_CHARACTER
from tfreps._src.layers.ops.annotations import Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.table_rows import distinct_rows, table_rows


@keras.saving.register_keras_serializable(package="tfreps")
class CharLSTMEncoder(Configurable, keras.layers.Layer):
    """Character BiLSTM that encodes each token from its characters alone, without context.

        token = [forward state after the last character, backward state after the first]

    Each distinct token of a batch is encoded once, and the loop stops after the longest token.

    Args:
        units: int. Width of the hidden state of each direction. The token vector is twice as wide.
        character_dim: int. Width of a character's vector. Defaults to 25.
        max_characters: int. Number of character ids per token. Defaults to 50.

    Call arguments:
        inputs: int, shape `[..., max_characters]`, as created by `tfreps.text`. Each id is in
            0..261; all ids of a row are 0 where there is no token.
        training: bool. Whether to store the gates of every step for the gradient. If False, the
            gradient is the same, but computing it runs the loop again. Defaults to `False`.

    Returns:
        float32, shape `[..., 2 * units]`, zero where there is no token.

    Raises:
        ValueError: If `units` is not an integer of at least 1, `character_dim` is below 1, or
            `max_characters` is below 3.
        tf.errors.InvalidArgumentError: If an id is out of range.

    Reference: Lample et al., 2016, "Neural Architectures for Named Entity Recognition",
    section 4.1.

    Example:
    >>> import tfreps
    >>> encoder = CharLSTMEncoder(units=3)
    >>> vectors = encoder(tfreps.text.batch_to_ids([["a", "dog", "a"]]))
    >>> vectors.shape, bool(tf.reduce_all(vectors[0, 0] == vectors[0, 2]))
    (TensorShape([1, 3, 6]), True)
    """

    def __init__(
        self, units: int, character_dim: int = 25, max_characters: int = 50, **kwargs: Any
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, character_dim=character_dim)
        check_integers(3, max_characters=max_characters)
        self.units = units
        self.character_dim = character_dim
        self.max_characters = max_characters
        common = {"dtype": self.dtype_policy, "trainable": self.trainable}
        self.bilstm = BiLSTM(units, name="bilstm", **common)
        self.supports_jit = False  # the output of tf.unique has no static shape

    def build(self, input_shape: Shape) -> None:
        shape = NUM_CHARACTER_IDS, self.character_dim
        self.characters = self._add("characters", shape, "glorot_uniform")
        self.bilstm.build((None, None, self.character_dim))

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        ids = tf.cast(inputs, "int32")
        flat = tf.reshape(ids, [-1, self.max_characters])  # [N, C]
        distinct, which = distinct_rows(flat)  # [U, C], [N]
        mask = tf.logical_and(distinct != 0, distinct != PADDING_CHARACTER)
        positions = tf.range(1, self.max_characters + 1)
        longest = tf.reduce_max(tf.concat([[1], tf.reshape(tf.where(mask, positions, 0), [-1])], 0))
        x = table_rows(self.characters, distinct[:, :longest])  # [U, c, character_dim]
        _, last = self.bilstm(x, mask=mask[:, :longest], training=training)  # [U, 2 * units]
        # The reshape makes the gradient of `gather` dense, as a loop in a graph requires.
        last = tf.reshape(last, [-1, 2 * self.units])
        vectors = tf.gather(last, which)  # [N, 2 * units]
        return tf.reshape(vectors, tf.concat([tf.shape(ids)[:-1], [2 * self.units]], 0))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-1], 2 * self.units)
