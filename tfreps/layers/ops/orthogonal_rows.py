"""OrthogonalRows: initialises a table with an orthogonal matrix, each row of length one."""

import keras
import tensorflow as tf

TABLE_INITIALIZERS = "truncated_normal", "orthogonal_rows"


@keras.saving.register_keras_serializable(package="tfreps")
class OrthogonalRows(keras.initializers.Initializer):
    """Draws an orthogonal matrix and divides each of its rows by its length.

        table = orthogonal(V, D),    row_i = table_i / |table_i|

    Up to `D` rows are orthogonal to each other; of more, the columns were, before the division.

    Args:
        seed: int or None.

    Reference: the embedding tables of aespresso/a_journey_into_math_of_ml, "models/bert_model.py";
    Saxe et al., 2014, for orthogonal matrices.

    Example:
    >>> table = OrthogonalRows(seed=1)([3, 4])
    >>> (table @ tf.transpose(table)).numpy().round(3).tolist() == tf.eye(3).numpy().tolist()
    True
    """

    def __init__(self, seed=None):
        self.seed = seed

    def __call__(self, shape, dtype=None):
        table = keras.initializers.Orthogonal(seed=self.seed)(shape, dtype="float32")
        return tf.cast(tf.math.l2_normalize(table, axis=-1, epsilon=1e-24), dtype or "float32")

    def get_config(self):
        return {"seed": self.seed}


def table_initializer(name, initializer_range):
    """The initialiser of an embedding table by name; `initializer_range` is that of the normal."""
    if name not in TABLE_INITIALIZERS:
        choices = ", ".join(TABLE_INITIALIZERS)
        raise ValueError(f"`initializer` must be one of {choices}; got {name!r}.")
    if not initializer_range > 0:
        raise ValueError(f"`initializer_range` must be above 0; got {initializer_range}.")
    if name == "orthogonal_rows":
        return OrthogonalRows()
    return keras.initializers.TruncatedNormal(stddev=initializer_range)
