"""PositionEmbedding: adds a vector for each token's place, learned or of sines and cosines."""

import keras
import tensorflow as tf

from tfreps.layers.ops.configurable import Configurable
from tfreps.layers.ops.masks import as_mask
from tfreps.layers.ops.orthogonal_rows import table_initializer
from tfreps.layers.ops.table_rows import rows_of_short_table

KINDS = "learned", "sinusoidal", "sinusoidal_full_index"


@keras.saving.register_keras_serializable(package="tfreps")
class PositionEmbedding(Configurable, keras.layers.Layer):
    """Adds to each token's vector that of its position `p`, counted from 0.

        "learned":              y_p = x_p + table[p]
        "sinusoidal":           y_p = x_p + [sin(p / 10000^(2k/D)), cos(p / 10000^(2k/D))]
                                for k = 0 .. D/2 - 1, sine and cosine side by side
        "sinusoidal_full_index":  dimension i is sin(p / 10000^(2i/D)) for even i, cos for odd i;
                                  zeros at position 0

    The exponent of `"sinusoidal_full_index"` has the index of the dimension where the paper's has
    the number of the pair, so that wavelengths grow twice as fast and differ within a pair. The
    code of aespresso/a_journey_into_math_of_ml has it so.

    Args:
        positions: `"learned"`, `"sinusoidal"` (the paper) or `"sinusoidal_full_index"`.
        max_positions: int. Rows of the table. Used by `"learned"` alone; the others have no end.
        normalize_positions: bool. Whether each vector of sines and cosines is divided by its
            length, as in that code.
        initializer: of the table: `"truncated_normal"`, `"orthogonal_rows"`, or any other that
            Keras takes.
        initializer_range: float. Standard deviation of `"truncated_normal"`.

    Call arguments:
        inputs: float, shape `[B, T, D]`.
        mask: bool, shape `[B, T]`, True on real tokens, in any places. With a mask only real
            tokens are counted; None counts columns, as BERT does.

    Returns:
        float32, shape `[B, T, D]`. Padding gets the position of the last token before it.

    Raises:
        ValueError: for options out of range, and for more columns than `max_positions`
            where that can be seen beforehand.
        tf.errors.InvalidArgumentError: for a text of more tokens than `max_positions`. (XLA
            drops the check: the tokens in excess become NaN.)

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
        positions="learned",
        max_positions=512,
        normalize_positions=False,
        initializer="truncated_normal",
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        if positions not in KINDS:
            raise ValueError(f"`positions` must be one of {', '.join(KINDS)}; got {positions!r}.")
        if max_positions < 1:
            raise ValueError(f"`max_positions` must be at least 1; got {max_positions}.")
        self.positions = positions
        self.max_positions = max_positions
        self.normalize_positions = normalize_positions
        self.initializer = initializer
        self.initializer_range = initializer_range
        table_initializer(initializer, initializer_range)  # raises
        self.supports_masking = True

    def build(self, input_shape):
        if self.positions == "learned":
            self.table = self.add_weight(
                name="table",
                shape=(self.max_positions, input_shape[-1]),
                initializer=table_initializer(self.initializer, self.initializer_range),
                autocast=False,
            )

    def call(self, inputs, mask=None):
        x = tf.cast(inputs, "float32")
        if mask is None:
            positions = tf.range(tf.shape(x)[1])[None]  # [1, T]
        else:
            before = tf.cumsum(tf.cast(as_mask(mask, x), "int32"), axis=1) - 1
            positions = tf.maximum(before, 0)  # [B, T]
        if self.positions != "learned":
            rows = sinusoids(tf.shape(x)[1], x.shape[-1], self.positions, self.normalize_positions)
            return x + tf.gather(rows, positions)
        if mask is None and x.shape[1] is not None and x.shape[1] > self.max_positions:
            raise ValueError(
                f"A text may have {self.max_positions} tokens here (`max_positions`); got "
                f"{x.shape[1]} columns. Cut the texts, or give more positions."
            )
        message = f"a text has more tokens than there are `max_positions`, {self.max_positions}"
        return x + rows_of_short_table(self.table, positions, message)

    def compute_output_shape(self, input_shape):
        return input_shape


def sinusoids(length, dim, positions="sinusoidal", normalize_positions=False):
    """The vectors of the first `length` positions.

    Args:
        length: int, or an int tensor.
        dim: int.
        positions: `"sinusoidal"` or `"sinusoidal_full_index"`, see `PositionEmbedding`.
        normalize_positions: bool. Whether each row is divided by its length (plus 1e-8).

    Returns:
        float32, shape `[length, dim]`.

    Example:
    >>> sinusoids(2, 2, "sinusoidal_full_index").numpy().round(3).tolist()[0]
    [0.0, 0.0]
    """
    index = tf.range(dim)
    exponent = 2 * index if positions == "sinusoidal_full_index" else 2 * (index // 2)  # [D]
    place = tf.cast(tf.range(length), "float64")[:, None]  # [T, 1]
    angle = place / 10000.0 ** (tf.cast(exponent, "float64") / dim)  # [T, D]
    rows = tf.where(index % 2 == 0, tf.sin(angle), tf.cos(angle))
    if positions == "sinusoidal_full_index":
        rows = tf.where(place > 0, rows, 0.0)
    if normalize_positions:
        rows /= tf.norm(rows, axis=-1, keepdims=True) + 1e-8
    return tf.cast(rows, "float32")
