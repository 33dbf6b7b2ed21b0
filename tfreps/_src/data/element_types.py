"""Types of data sets and of their elements, for annotations."""

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    Dataset = tf.data.Dataset[Any]  # only TensorFlow's type stubs allow an index after this class
else:
    Dataset = tf.data.Dataset

# Element of a dataset: features, or a tuple (features, targets, sample weights).
Arrays = dict[str, np.ndarray] | tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]
Specs = dict[str, tf.TensorSpec] | tuple[dict[str, tf.TensorSpec], tf.TensorSpec, tf.TensorSpec]
