"""SentenceLoss: mean loss of all sentences, independent of the sizes of batches."""

import keras
import tensorflow as tf

from tfreps._src.metrics.tag_pairs import TensorLike


@keras.saving.register_keras_serializable(package="tfreps")
class SentenceLoss(keras.metrics.Mean):
    """Mean loss of all sentences, computed from the losses of batches.

        sum over b of B_b * (loss_b / c_b + penalty_b), divided by the sum of all B_b

    For batch `b`, `B_b` is the number of sentences, `loss_b` their mean loss, `c_b` the batch
    weight and `penalty_b` the regularization term. The result does not depend on how the sentences
    are batched. As in Keras, losses are multiplied by the weights of the sentences, and divided by
    the number of sentences, not by the sum of their weights:

        sum over all sentences of weight * loss, divided by the number of sentences

    Shuffled `tfreps.data.SequenceBatches` multiply the weights of a batch by its batch weight, so
    that every sentence has the same influence in training. Keras's own `loss` applies the batch
    weight and also weights the batches by their size, so it is too high if the sizes differ. The
    result is a float scalar, which is 0 before the first batch.

    Args:
        name: str. Name of the metric. Defaults to `"sentence_loss"`.
        dtype: str. Dtype of the metric. If `None` (the default), it is `keras.config.floatx()`.

    Example:
    >>> metric = SentenceLoss()
    >>> metric.update_state(6.0, 3, batch_weight=[1.5, 1.5, 1.5])  # 3 sentences with a loss of 4
    >>> metric.update_state(0.5, 1, batch_weight=[0.5])            # 1 sentence with a loss of 1
    >>> float(metric.result())
    3.25
    """

    def __init__(self, name: str = "sentence_loss", dtype: str | None = None) -> None:
        super().__init__(name=name, dtype=dtype)

    # This metric reads losses instead of the values that `keras.metrics.Mean` reads.
    def update_state(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        loss: TensorLike,
        rows: TensorLike,
        batch_weight: TensorLike | None = None,
        penalty: TensorLike = 0.0,
    ) -> None:
        """Adds the loss of a batch.

        Args:
            loss: float scalar. Weighted loss of the batch, divided by its number of sentences.
            rows: int scalar. Number of sentences in the batch.
            batch_weight: float, shape `[B]`. Factor that is part of the weights of all sentences of
                the batch: the feature `batch_weight` of `tfreps.data.SequenceBatches`. The loss is
                divided by it. If `None` (the default), it is 1.
            penalty: float scalar. Regularization term, added to the loss. Defaults to 0.0.
        """
        if batch_weight is not None:
            mean = tf.reduce_mean(tf.cast(tf.convert_to_tensor(batch_weight), "float32"))
            loss = tf.math.divide_no_nan(loss, mean)
        super().update_state(tf.add(loss, penalty), sample_weight=rows)
