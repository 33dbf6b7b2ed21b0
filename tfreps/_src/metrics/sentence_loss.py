"""SentenceLoss: mean loss of sentences in training, independent of batches and weights."""

import keras
import tensorflow as tf

from tfreps._src.metrics.tag_pairs import TensorLike


@keras.saving.register_keras_serializable(package="tfreps")
class SentenceLoss(keras.metrics.Mean):
    """Mean loss of all sentences, computed from the losses of weighted batches.

        sum over b of B_b * (loss_b / w_b + penalty_b), divided by the sum of all B_b

    For batch `b`, `B_b` is the number of sentences, `w_b` their mean weight, `loss_b` the weighted
    loss and `penalty_b` the regularization term. Training uses weights that give every sentence the
    same influence (see `tfreps.data.SequenceBatches`). Keras's own `loss` applies these weights and
    also weights the batches by their size, so it is too high if the sizes differ. The result is a
    float scalar, which is 0 before the first batch.

    Args:
        name: str. Name of the metric. Defaults to `"sentence_loss"`.
        dtype: str. Dtype of the metric. If `None` (the default), it is `keras.config.floatx()`.

    Example:
    >>> metric = SentenceLoss()
    >>> metric.update_state(6.0, 3, sample_weight=[1.5, 1.5, 1.5])  # 3 sentences with a loss of 4
    >>> metric.update_state(0.5, 1, sample_weight=[0.5])            # 1 sentence with a loss of 1
    >>> float(metric.result())
    3.25
    """

    def __init__(self, name: str = "sentence_loss", dtype: str | None = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(  # pyright: ignore[reportIncompatibleMethodOverride]  # a loss, not values
        self,
        loss: TensorLike,
        rows: TensorLike,
        sample_weight: TensorLike | None = None,
        penalty: TensorLike = 0.0,
    ) -> None:
        """Adds the loss of a batch.

        Args:
            loss: float scalar. Weighted loss of the batch.
            rows: int scalar. Number of sentences in the batch.
            sample_weight: float, shape `[B]`. Weights of the sentences. The loss is divided by
                their mean. Weights of shape `[B, T]` are ignored. If `None` (the default), the
                weights are 1.
            penalty: float scalar. Regularization term, added to the loss. Defaults to 0.0.
        """
        weights = tf.ones([1])
        if sample_weight is not None:
            weights = tf.cast(tf.convert_to_tensor(sample_weight), "float32")
        mean = tf.reduce_mean(weights) if weights.shape.rank == 1 else 1.0
        super().update_state(tf.math.divide_no_nan(loss, mean) + penalty, sample_weight=rows)
