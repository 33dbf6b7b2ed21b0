"""Types of arguments that several layers and models have."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

Array = tf.Tensor | np.ndarray
Features = Mapping[str, Array] | Array  # inputs of a model: a dict of arrays, or one array
Outputs = dict[str, tf.Tensor]
Shape = tuple[int | None, ...]
Filters = Sequence[Sequence[int]]  # pairs (width, count), one per group of filters

Activation = str | Callable[[tf.Tensor], tf.Tensor]
Initializer = str | Mapping[str, Any] | keras.initializers.Initializer
Regularizer = str | Mapping[str, Any] | keras.regularizers.Regularizer

JitCompile = bool | Literal["auto"]
Positions = Literal["learned", "sinusoidal", "sinusoidal_full_index"]
PoolingKind = Literal["mean", "max", "mean_max", "mean_sqrt", "attention", "first"]
Neighbors = Literal["separate", "summed", "nearest_cells"]
InputTerm = Literal["gate", "embedding"]
SentenceNormalization = Literal["joint", "words"]
SLSTMInitialState = Literal["learned", "learned_separately", "zeros", "embedding"]
Boundary = Literal["learned", "fixed", "zeros"]
