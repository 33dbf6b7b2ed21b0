"""OrthogonalRows, and a function that creates an initializer from a name, config or instance."""

import keras
import tensorflow as tf

BERT_STDDEV = 0.02


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


def new_initializer(given: object) -> keras.initializers.Initializer:
    """Returns a new initializer for one weight.

    `given` is the name, config or instance of a Keras initializer, `"orthogonal_rows"`, or `None`
    for the truncated normal distribution of BERT.
    """
    if given is None:
        return keras.initializers.TruncatedNormal(stddev=BERT_STDDEV)
    if isinstance(given, keras.Initializer):
        return given.clone()  # a copy, so that weights of the same shape get different values
    if given == "orthogonal_rows":
        return OrthogonalRows()
    return keras.initializers.get(given)
