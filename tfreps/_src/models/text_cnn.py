"""TextCNN: convolutions over the tokens of a text and their maxima."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_dropout
from tfreps._src.layers.ops.annotations import Features, Outputs
from tfreps._src.models.whole_model import WholeModel


@keras.saving.register_keras_serializable(package="tfreps")
class TextCNN(WholeModel, keras.Model):
    """Convolutions of several widths over tokens, and the maximum of each filter over the text.

        c_w[t] = relu([x_t, ..., x_{t+w-1}] @ kernel_w + bias_w)
        pooled_output = [max_t c_w[t] for each width w]        over real windows only

    A window is real if all its tokens are real. If a text is shorter than the window, the window
    that begins at its first token, padded with zeros, counts as its only real one. Padding
    therefore never affects a maximum, whatever the bias is.

    Args:
        embedder: `TokenEmbedder` or any other encoder.
        num_filters: int. Number of filters of each width. Defaults to 100.
        widths: list of int. Widths of the filters in tokens. Defaults to `(3, 4, 5)`.
        dropout: float in [0, 1). Dropout rate of `pooled_output`. The `Classifier` has its own
            dropout, by default 0.5 as in the paper, so set only one of the two. Defaults to 0.0.

    Call arguments:
        features: dict. The features that the embedder reads.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `pooled_output` float32 `[B, pooled_dim]`; `sequence_output`
        float32 `[B, T, output_dim]`, the filter outputs of the windows that begin at each token,
        zero where no real window begins; and `mask` bool `[B, T]`. `pooled_dim` and `output_dim`
        are `num_filters * len(widths)`.

    Raises:
        ValueError: If `num_filters` or a width is below 1, `widths` is empty, or `dropout` is out
            of range.

    Reference: Kim, 2014, "Convolutional Neural Networks for Sentence Classification".

    Example:
    >>> from tfreps.models import TokenEmbedder
    >>> cnn = TextCNN(TokenEmbedder(vocabulary_size=9), num_filters=4)
    >>> cnn({"token_ids": tf.constant([[3, 9, 0]])})["pooled_output"].shape
    TensorShape([1, 12])
    """

    def __init__(
        self,
        embedder: keras.Model,
        num_filters: int = 100,
        widths: Sequence[int] = (3, 4, 5),
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        if num_filters < 1 or not widths or min(widths) < 1:
            raise ValueError(
                "`num_filters` must be at least 1, and `widths` a non-empty list of integers, each "
                f"at least 1; got {num_filters} and {widths}."
            )
        check_dropout(dropout=dropout)
        # Options.
        self.embedder = embedder
        self.num_filters = num_filters
        self.widths = widths
        self.dropout = dropout
        # Layers.
        self.kernels = []
        self.biases = []
        for width in widths:
            shape = (width * embedder.output_dim, num_filters)
            self.kernels.append(self._add(f"width_{width}_kernel", shape, "glorot_uniform"))
            self.biases.append(self._add(f"width_{width}_bias", (num_filters,), "zeros"))
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        self.output_dim = num_filters * len(widths)
        self.pooled_dim = num_filters * len(widths)
        self.built = True

    def call(self, features: Features, training: bool = False) -> Outputs:
        embedded = self.embedder(features, training=training)
        x = embedded["sequence_output"]
        mask = embedded["mask"]
        maps = []
        for width, kernel, bias in zip(self.widths, self.kernels, self.biases, strict=True):
            y = self._convolve(x, kernel, width) + tf.cast(bias, "float32")
            y = tf.nn.relu(y)  # [B, T, num_filters]
            maps.append(tf.where(tf.expand_dims(_real_windows(mask, width), -1), y, 0.0))
        maps = tf.concat(maps, axis=-1)  # [B, T, output_dim]
        # After relu, the zeros of positions without a real window do not change a maximum.
        pooled = tf.reduce_max(tf.pad(maps, [[0, 0], [0, 1], [0, 0]]), axis=1)
        pooled = self.drop(pooled, training=training)
        return {"sequence_output": maps, "mask": mask, "pooled_output": pooled}

    def _convolve(self, x, kernel, width):
        """Returns the filter outputs of the window at each token: float32 `[B, T, num_filters]`."""
        # TensorFlow 2.21 returns a wrong shape for empty inputs, so one text and token are added.
        x = tf.pad(tf.cast(x, self.compute_dtype), [[0, 1], [0, width], [0, 0]])
        kernel = tf.reshape(tf.cast(kernel, self.compute_dtype), [width, -1, self.num_filters])
        return tf.cast(tf.nn.conv1d(x, kernel, 1, "VALID")[:-1, :-1], "float32")


def _real_windows(mask, width):
    """Returns a bool tensor `[B, T]`, True where a real window begins."""
    steps = tf.shape(mask)[1]
    behind = tf.pad(mask, [[0, 0], [0, width - 1]])
    whole = tf.reduce_all(tf.stack([behind[:, k : k + steps] for k in range(width)]), axis=0)
    first = tf.logical_and(mask, tf.cumsum(tf.cast(mask, "int32"), axis=1) == 1)
    none = tf.logical_not(tf.reduce_any(whole, axis=1, keepdims=True))  # [B, 1]
    return tf.logical_or(whole, tf.logical_and(none, first))
