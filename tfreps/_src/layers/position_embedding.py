"""PositionEmbedding: adds a learned or sinusoidal vector for each position."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_integers
from tfreps._src.layers.ops.annotations import Initializer, Positions, Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.initializers import new_initializer
from tfreps._src.layers.ops.masks import as_mask
from tfreps._src.layers.ops.portable import is_portable
from tfreps._src.layers.ops.table_rows import rows_of_short_table

KINDS = "learned", "sinusoidal", "sinusoidal_full_index"


@keras.saving.register_keras_serializable(package="tfreps")
class PositionEmbedding(Configurable, keras.layers.Layer):
    """Position embedding layer that adds a vector for each position `p`, counted from 0.

        "learned":              y_p = x_p + table[p]
        "sinusoidal":           y_p = x_p + [sin(p / 10000^(2k/D)), cos(p / 10000^(2k/D))]
                                for k = 0 .. D/2 - 1, with sines and cosines interleaved
        "sinusoidal_full_index":  y_p = x_p + v_p, where dimension i of v_p is
                                  sin(p / 10000^(2i/D)) for even i and cos(...) for odd i; v_0 = 0

    In `"sinusoidal_full_index"`, the exponent contains the index `i` of the dimension, whereas the
    paper uses the index `k` of a pair of sine and cosine. Wavelengths therefore grow twice as fast
    and differ within a pair. The code of aespresso/a_journey_into_math_of_ml uses this variant.

    Args:
        positions: str. `"learned"`, `"sinusoidal"` (as in the paper) or `"sinusoidal_full_index"`.
            Defaults to `"learned"`.
        max_sequence_length: int. Number of rows of the table. Has no effect on the sinusoidal
            variants, which are unbounded. Defaults to 512.
        normalize_positions: bool. Whether to divide each sinusoidal vector by its norm, as the
            aespresso code does. Defaults to `False`.
        embeddings_initializer: str, config or Keras initializer of the table, or
            `"orthogonal_rows"`. If `None` (the default), it is a truncated normal distribution with
            a standard deviation of 0.02, as in BERT.

    Call arguments:
        inputs: float, shape `[B, T, D]`.
        mask: bool, shape `[B, T]`. True on real tokens, which may be at any position. With a
            mask, only real tokens are counted. If `None`, padding is counted as well, as in BERT.

    Returns:
        float32, shape `[B, T, D]`. With a mask, padding gets the position of the last real token
        before it, or position 0 if there is no such token.

    Raises:
        ValueError: If an option is invalid, if `mask` has the wrong shape, or if learned positions
            are used without a mask and the static length of the inputs is greater than
            `max_sequence_length`.
        tf.errors.InvalidArgumentError: If learned positions are used and a text has more tokens
            than `max_sequence_length`. XLA drops this check; the outputs for the excess tokens are
            then NaN.

    Reference: Vaswani et al., 2017, "Attention Is All You Need", section 3.5; Devlin et al., 2019,
    "BERT"; aespresso/a_journey_into_math_of_ml, "models/bert_model.py".

    Example:
    >>> positions = PositionEmbedding("sinusoidal")
    >>> print(positions(tf.zeros([1, 2, 4])).numpy().round(2)[0])
    [[0.   1.   0.   1.  ]
     [0.84 0.54 0.01 1.  ]]
    """

    def __init__(
        self,
        positions: Positions = "learned",
        max_sequence_length: int = 512,
        normalize_positions: bool = False,
        embeddings_initializer: Initializer | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_choice(KINDS, positions=positions)
        check_integers(1, max_sequence_length=max_sequence_length)
        self.positions = positions
        self.max_sequence_length = max_sequence_length
        self.normalize_positions = normalize_positions
        self.embeddings_initializer = embeddings_initializer
        new_initializer(embeddings_initializer)  # raises an error for an invalid option
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        if self.positions == "learned":
            initializer = new_initializer(self.embeddings_initializer)
            self.table = self._add(
                "table", (self.max_sequence_length, input_shape[-1]), initializer
            )

    def call(self, inputs: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
        x = tf.cast(inputs, "float32")
        if mask is None:
            positions = tf.range(tf.shape(x)[1])[None]  # [1, T]
        else:
            before = tf.cumsum(tf.cast(as_mask(mask, x), "int32"), axis=1) - 1
            positions = tf.maximum(before, 0)  # [B, T]
        if self.positions != "learned":
            rows = sinusoids(tf.shape(x)[1], x.shape[-1], self.positions, self.normalize_positions)
            return x + tf.gather(rows, positions)
        if mask is None and x.shape[1] is not None and x.shape[1] > self.max_sequence_length:
            raise ValueError(
                f"`max_sequence_length` ({self.max_sequence_length}) must be at least the length "
                f"of the inputs; got inputs of length {x.shape[1]}. Shorten the texts or increase "
                "`max_sequence_length`."
            )
        message = (
            f"A text has more tokens than `max_sequence_length` ({self.max_sequence_length}). "
            "Shorten the text or increase `max_sequence_length`."
        )
        return x + rows_of_short_table(self.table, positions, message)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape


def sinusoids(length, dim, positions="sinusoidal", normalize_positions=False):
    """Returns the vectors of the first `length` positions, float32 `[length, dim]`.

    `PositionEmbedding` defines the vectors and the options.
    """
    index = tf.range(dim)
    exponent = 2 * index if positions == "sinusoidal_full_index" else 2 * (index // 2)  # [D]
    dtype = "float32" if is_portable() else "float64"  # LiteRT has no sine in float64
    position = tf.cast(tf.range(length), dtype)[:, None]  # [T, 1]
    angle = position / 10000.0 ** (tf.cast(exponent, dtype) / dim)  # [T, D]
    rows = tf.where(index % 2 == 0, tf.sin(angle), tf.cos(angle))
    if positions == "sinusoidal_full_index":
        rows = tf.where(position > 0, rows, 0.0)
    if normalize_positions:
        rows /= tf.norm(rows, axis=-1, keepdims=True) + 1e-8
    return tf.cast(rows, "float32")
