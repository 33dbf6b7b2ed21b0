"""OrthogonalRows: initializer that draws an orthogonal matrix and normalizes its rows."""

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_positive


@keras.saving.register_keras_serializable(package="tfreps")
class OrthogonalRows(keras.initializers.Initializer):
    """Initializer that draws an orthogonal matrix and divides each row by its norm.

        table = orthogonal(V, D),    row_i = table_i / |table_i|

    The rows are orthogonal to each other if there are at most `D` of them. Otherwise the columns
    are orthogonal to each other, but only before the division.

    Args:
        seed: int. Random seed. If `None`, a random seed is used. Defaults to `None`.

    Reference: aespresso/a_journey_into_math_of_ml, "models/bert_model.py", for the embedding
    tables; Saxe, McClelland and Ganguli, 2014, "Exact solutions to the nonlinear dynamics of
    learning in deep linear neural networks", for orthogonal matrices.

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


def table_initializer(initializer, initializer_range):
    """Returns the initializer of an embedding table, one of three kinds; see `BertEncoder`."""
    check_positive(initializer_range=initializer_range)
    if initializer == "truncated_normal":
        return keras.initializers.TruncatedNormal(stddev=initializer_range)
    if initializer == "orthogonal_rows":
        return OrthogonalRows()
    if isinstance(initializer, keras.Initializer):
        return initializer.clone()  # so that tables of the same shape get different values
    return keras.initializers.get(initializer)
