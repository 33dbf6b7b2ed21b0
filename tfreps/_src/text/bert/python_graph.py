"""PythonGraph: calls a tokenizer of Python from a TensorFlow graph."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf


class PythonGraph(tf.Module):
    """TensorFlow graph that calls Python to convert texts `[B]` to ragged int32 ids `[B, None]`.

    It works in `tf.data` and in models, but cannot be saved.
    """

    table = None
    default_id = -1

    # `tokenizer` is a `JsonTokenizer`, whose module imports this one.
    def __init__(self, tokenizer: Any):
        super().__init__(name="python_pieces")
        self.tokenizer = tokenizer

    def __call__(self, texts: tf.Tensor | Sequence[str]) -> tf.RaggedTensor:
        texts = tf.convert_to_tensor(texts, tf.string)  # [B]
        ids, lengths = tf.numpy_function(self._split, [texts], [tf.int32, tf.int64])  # pyright: ignore[reportGeneralTypeIssues]
        ids, lengths = tf.ensure_shape(ids, [None]), tf.ensure_shape(lengths, [None])
        return tf.RaggedTensor.from_row_lengths(ids, lengths)  # pyright: ignore[reportAttributeAccessIssue]

    def _split(self, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = self.tokenizer.texts_to_ids([text.decode(errors="replace") for text in texts])
        lengths = np.array(list(map(len, rows)), "int64")
        return np.array(list(itertools.chain(*rows)), "int32"), lengths
