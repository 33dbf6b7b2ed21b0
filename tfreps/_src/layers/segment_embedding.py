"""SegmentEmbedding: a learned vector for each segment of a text."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.layers.ops.annotations import Initializer, Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.initializers import new_initializer
from tfreps._src.layers.ops.table_rows import rows_of_short_table


@keras.saving.register_keras_serializable(package="tfreps")
class SegmentEmbedding(Configurable, keras.layers.Layer):
    """Segment embedding layer that looks up the vector of each token's segment.

    In a pair of sentences, each sentence is one segment.

        y_t = table[inputs_t]

    Args:
        num_segments: int. Number of segment ids: 2 in BERT, 256 in the models of
            aespresso/a_journey_into_math_of_ml. Defaults to 2.
        units: int. Width of the vectors. Defaults to 768.
        embeddings_initializer: str, config or Keras initializer of the table, or
            `"orthogonal_rows"`. If `None` (the default), it is a truncated normal distribution with
            a standard deviation of 0.02, as in BERT.

    Call arguments:
        inputs: int, shape `[B, T]`. Each id is in `0..num_segments-1`.

    Returns:
        float32, shape `[B, T, units]`.

    Masking: each position is computed independently, and the mask is passed on unchanged.

    Raises:
        ValueError: If an option is out of range or `embeddings_initializer` is unknown.
        tf.errors.InvalidArgumentError: If an id is out of range. XLA drops this check; the
            vectors of these ids then become NaN.

    Reference: Devlin et al., 2019, "BERT", section 3.

    Example:
    >>> import tensorflow as tf
    >>> SegmentEmbedding(num_segments=3, units=4)(tf.constant([[0, 0, 2]])).shape
    TensorShape([1, 3, 4])
    """

    def __init__(
        self,
        num_segments: int = 2,
        units: int = 768,
        embeddings_initializer: Initializer | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, num_segments=num_segments, units=units)
        self.num_segments = num_segments
        self.units = units
        self.embeddings_initializer = embeddings_initializer
        new_initializer(embeddings_initializer)  # raises an error for an invalid option
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        initializer = new_initializer(self.embeddings_initializer)
        self.table = self._add("table", (self.num_segments, self.units), initializer)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        highest = self.num_segments - 1
        message = f"All segment ids must lie in 0..{highest}. Increase `num_segments` for more ids."
        return rows_of_short_table(self.table, inputs, message)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape, self.units)
