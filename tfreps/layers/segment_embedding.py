"""SegmentEmbedding: a learned vector for each kind of segment a token may belong to."""

import keras

from tfreps.layers.ops.configurable import Configurable
from tfreps.layers.ops.orthogonal_rows import table_initializer
from tfreps.layers.ops.table_rows import rows_of_short_table


@keras.saving.register_keras_serializable(package="tfreps")
class SegmentEmbedding(Configurable, keras.layers.Layer):
    """Looks up the vector of each token's segment: the first sentence of a pair, the second ...

        y_t = table[segment_ids_t]

    Args:
        num_segments: int. Kinds of segments: 2 in BERT, 256 in aespresso's models.
        units: int. Width of the vectors.
        initializer: of the table: `"truncated_normal"`, `"orthogonal_rows"`, or any other that
            Keras takes.
        initializer_range: float. Standard deviation of `"truncated_normal"`.

    Call arguments:
        segment_ids: int, shape `[B, T]`, each in `0..num_segments-1`.

    Returns:
        float32, shape `[B, T, units]`.

    Masking: works on each position alone, so any mask passes through.

    Raises:
        ValueError: for options out of range.
        tf.errors.InvalidArgumentError: for ids out of range. (XLA drops the check: ids in
            excess become NaN.)

    Reference: Devlin et al., 2019, "BERT", section 3.

    Example:
    >>> import tensorflow as tf
    >>> SegmentEmbedding(num_segments=3, units=4)(tf.constant([[0, 0, 2]])).shape
    TensorShape([1, 3, 4])
    """

    def __init__(
        self,
        num_segments=2,
        units=768,
        initializer="truncated_normal",
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        if min(num_segments, units) < 1:
            raise ValueError(
                f"`num_segments` and `units` must be at least 1; got {num_segments} and {units}."
            )
        self.num_segments = num_segments
        self.units = units
        self.initializer = initializer
        self.initializer_range = initializer_range
        table_initializer(initializer, initializer_range)  # raises
        self.supports_masking = True

    def build(self, input_shape):
        self.table = self.add_weight(
            name="table",
            shape=(self.num_segments, self.units),
            initializer=table_initializer(self.initializer, self.initializer_range),
            autocast=False,
        )

    def call(self, segment_ids):
        message = f"segment ids must lie in 0..{self.num_segments - 1}"
        return rows_of_short_table(self.table, segment_ids, message)

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.units)
