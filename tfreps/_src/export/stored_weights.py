"""StoredWeights: stores the weights of an export in fewer bits, or as constants of its graphs."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.layers.ops.configurable import inner_layers

Kind = Literal["float32", "bfloat16", "int8"]
KINDS: tuple[Kind, ...] = "float32", "bfloat16", "int8"
LEAST = 1024  # smallest number of values of an array that is stored in fewer bits
# Maximum number of bytes of constants; a SavedModel has at most 2 GB outside of its variables.
MOST_CONSTANTS = 2**30


class StoredWeights:
    """Weights of the models in an export, stored as float32, bfloat16 or int8.

        bfloat16    w = float32(stored)             half the size, 8 bits of precision
        int8        w = scale * float32(stored)     a quarter of the size, integers from -127 to 127

    Arrays with at least two axes and at least 1,024 values are stored in the chosen type; others,
    such as biases, are stored unchanged. `int8` has one scale per row if an array has more rows
    than columns (embeddings), otherwise one per column (kernels). Every call of the export converts
    the weights back to float32, which takes time. The weights of the models themselves are rounded
    too, so that the models and the export give the same outputs. (Keras's `model.quantize("int8")`
    also rounds the inputs of matrix multiplications, and supports only dense layers and
    embeddings.)

    If a model computes in 16 bits and `store` has not been called, the functions that `shared`
    returns contain the weights as constants, unless these exceed `MOST_CONSTANTS` bytes. TensorFlow
    converts and rearranges constants once instead of in every call. The outputs are equal.

    Args:
        models: sequence of `keras.Model`. The models whose weights the export stores.

    Example:
    >>> dense = keras.layers.Dense(64)
    >>> dense.build((None, 64))
    >>> weights = StoredWeights([dense])
    >>> weights.store("bfloat16")
    >>> double = weights.trace(lambda x: {"y": 2.0 * dense(x)}, tf.TensorSpec([None, 64], name="x"))
    >>> double(x=tf.ones([1, 64]))["y"].shape
    TensorShape([1, 64])
    """

    def __init__(self, models: Sequence[keras.Model]):
        variables = {id(v): v for model in models for v in model.variables}
        self.models: Sequence[keras.Model] = models
        self.variables: list[Any] = list(variables.values())
        # Pairs of a variable and a function that returns its stored value.
        self.stored: list[tuple[Any, _Rounded]] = []

    @property
    def precision(self) -> Literal["float32", "bfloat16"]:
        """Compute precision: `"bfloat16"` if a layer computes in 16 bits, otherwise `"float32"`."""
        inner = (part for model in self.models for _, part in inner_layers(model))
        layers = [*self.models, *inner]
        return "bfloat16" if any("float16" in part.compute_dtype for part in layers) else "float32"

    @property
    def constant(self) -> bool:
        """`True` if the functions that `shared` returns contain the weights as constants."""
        return not self.stored and self.precision == "bfloat16" and not self.too_large

    @property
    def too_large(self) -> bool:
        """`True` if the weights have more than `MOST_CONSTANTS` bytes."""
        size = sum(v.value.dtype.size * np.prod(v.shape) for v in self.variables)
        return bool(size > MOST_CONSTANTS)

    def store(self, kind: Kind) -> None:
        """Rounds the models' weights and stores them as `kind`, one of `KINDS`."""
        if kind not in KINDS:
            raise ValueError(f"`kind` must be one of {', '.join(KINDS)}; got {kind!r}.")
        if kind == "float32":
            return
        if any(v.dtype == "int8" for v in self.variables):
            raise ValueError(
                "`kind` must be float32, which leaves the weights unchanged, for a model that "
                f"Keras has already quantized; got {kind!r}."
            )
        for variable in self.variables:
            if variable.dtype == "float32" and len(variable.shape) > 1:
                if np.prod(variable.shape) >= LEAST:
                    value = _Rounded(np.asarray(variable), kind)
                    variable.assign(value())
                    self.stored.append((variable, value))

    def trace(
        self,
        function: Callable[..., dict[str, tf.Tensor]],
        *specs: tf.TensorSpec,
        **named: tf.TensorSpec,
    ) -> Any:
        """Traces a function that calls the models, so that it uses the stored weights.

        Args:
            function: Function from tensors to a dict of tensors.
            *specs: `tf.TensorSpec` of each positional argument of `function`, with a name.
            **named: `tf.TensorSpec` of each keyword argument of `function`.

        Returns:
            Concrete function that takes all inputs as keyword arguments, by the names of the specs.
        """
        names = [spec.name for spec in specs]

        def run(**inputs):
            given = [inputs.pop(name) for name in names]
            if not self.stored:
                return function(*given, **inputs)
            values = [(variable, value()) for variable, value in self.stored]
            with keras.StatelessScope(state_mapping=values):
                return function(*given, **inputs)

        traced = tf.function(run, autograph=False)
        return traced.get_concrete_function(**dict(zip(names, specs, strict=True)), **named)

    def shared(self, function: Callable) -> Callable:
        """Wraps a function so that the export contains its graph only once.

        All signatures that call the returned function share this graph. Otherwise, each of them
        would contain a copy, which makes loading slower. If weights are stored in fewer bits, the
        graph is not shared, because each signature converts the weights to float32 itself.
        """

        def with_constants(*inputs):
            if not self.constant:
                return function(*inputs)
            with tf.init_scope():
                arrays = [(variable, np.asarray(variable)) for variable in self.variables]
            values = [(variable, tf.constant(array)) for variable, array in arrays]
            with keras.StatelessScope(state_mapping=values):
                return function(*inputs)

        once = tf.function(with_constants, autograph=False)

        def call(*inputs):
            return function(*inputs) if self.stored else once(*inputs)

        return call

    def tracked(self, functions: Sequence[Any]) -> list[Any]:
        """Returns the list of the variables that the concrete functions read.

        A `tf.Module` must track these variables, so that they are saved with it.
        """
        captured = {id(x) for function in functions for x in function.captured_inputs}
        variables = {id(v.handle): v for function in functions for v in function.variables}
        return [variable for handle, variable in variables.items() if handle in captured]


def int8_values(array: np.ndarray, axes: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
    """Rounds an array to integers from -127 to 127 times a scale.

    Args:
        array: float array of any shape.
        axes: iterable of int. The axes along which all values have the same scale.

    Returns:
        tuple `(values, scale)`. The integers, int8 with the shape of `array`, and the scale,
        float32, with length 1 along `axes`.
    """
    largest = np.abs(array).max(axis=tuple(axes), keepdims=True)
    scale = np.where(largest > 0, largest, 1.0) / 127
    return np.rint(array / scale).astype("int8"), scale.astype("float32")


class _Rounded(tf.Module):
    """Array that is stored in fewer bits; a call without arguments returns it as float32."""

    def __init__(self, array: np.ndarray, kind: Kind):
        super().__init__()
        self.scale = None
        if kind == "int8":
            axes = (
                range(1, array.ndim) if array.shape[0] > array.shape[-1] else range(array.ndim - 1)
            )
            array, scale = int8_values(array, axes)
            self.scale = tf.Variable(scale, trainable=False)
        self.values = tf.Variable(tf.cast(array, kind), trainable=False)

    def __call__(self) -> tf.Tensor:
        value = tf.cast(self.values, tf.float32)
        return value if self.scale is None else value * self.scale
