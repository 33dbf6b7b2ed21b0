"""StoredWeights: the weights of an export, as they are or in fewer bits."""

import keras
import numpy as np
import tensorflow as tf

KINDS = "float32", "bfloat16", "int8"
LEAST = 1024  # numbers in a weight that is worth storing otherwise


class StoredWeights:
    """Has the functions of an export read the weights of its models from what is stored.

        bfloat16    w = float32(stored)                 half the size, 8 bits of precision
        int8        w = scale * float32(stored)         a quarter, 127 steps of either sign

    Matrices and larger arrays are stored so; biases and the like stay float32. `int8` has a scale
    for each row of a table that is higher than wide (embeddings), else for each column (kernels).
    They become float32 again in every call, which takes time. The models themselves get the
    rounded weights, so that what they say is what the export says. (`model.quantize("int8")` of
    Keras rounds what enters a product too, and knows dense layers and embeddings only.)

    Args:
        models: list of `keras.Model`.

    Example:
    >>> dense = keras.layers.Dense(64)
    >>> dense.build((None, 64))
    >>> weights = StoredWeights([dense])
    >>> weights.store("bfloat16")
    >>> double = weights.trace(lambda x: {"y": 2.0 * dense(x)}, tf.TensorSpec([None, 64], name="x"))
    >>> double(x=tf.ones([1, 64]))["y"].shape
    TensorShape([1, 64])
    """

    def __init__(self, models):
        variables = {id(v): v for model in models for v in model.variables}
        self.models = models
        self.variables = list(variables.values())
        self.stored = []  # (variable, what makes its value)

    @property
    def precision(self):
        """What the models calculate in: `"float32"` or `"bfloat16"` (which stands for float16)."""
        layers = [part for model in self.models for part in model._flatten_layers()]
        return "bfloat16" if any("float16" in part.compute_dtype for part in layers) else "float32"

    def store(self, kind):
        """Stores them so from now on, and rounds the models' weights.

        Args:
            kind: `"float32"` (as they are), `"bfloat16"` or `"int8"`.

        Raises:
            ValueError: for another kind, or a model that Keras has quantized already.
        """
        if kind not in KINDS:
            raise ValueError(f"Weights are stored as one of {', '.join(KINDS)}; got {kind!r}.")
        if kind == "float32":
            return
        if any(v.dtype == "int8" for v in self.variables):
            raise ValueError("The model is quantized already: leave its weights as they are.")
        for variable in self.variables:
            if variable.dtype == "float32" and len(variable.shape) > 1:
                if np.prod(variable.shape) >= LEAST:
                    value = _Rounded(np.asarray(variable), kind)
                    variable.assign(value())
                    self.stored.append((variable, value))

    def trace(self, function, *specs, **named):
        """The concrete function of given inputs, which reads the stored weights.

        Args:
            function: takes the inputs and returns a dict of tensors.
            *specs: `tf.TensorSpec` with names, of what it takes by position.
            **named: of what it takes by name.
        """
        names = [spec.name for spec in specs]

        def run(**inputs):
            given = [inputs.pop(name) for name in names]
            values = [(variable, value()) for variable, value in self.stored]
            with keras.StatelessScope(state_mapping=values):
                return function(*given, **inputs)

        traced = tf.function(run if self.stored else _renamed(function, names), autograph=False)
        return traced.get_concrete_function(**dict(zip(names, specs, strict=True)), **named)

    def tracked(self):
        """What a `tf.Module` has to hold for a SavedModel to keep the weights: a list."""
        rounded = {id(variable) for variable, _ in self.stored}
        kept = [variable.value for variable in self.variables if id(variable) not in rounded]
        return [*kept, *(value for _, value in self.stored)]


class _Rounded(tf.Module):
    """An array in fewer bits; a call makes float32 of it."""

    def __init__(self, array, kind):
        super().__init__()
        self.scale = None
        if kind == "int8":
            axes = (
                range(1, array.ndim) if array.shape[0] > array.shape[-1] else range(array.ndim - 1)
            )
            largest = np.abs(array).max(axis=tuple(axes), keepdims=True)
            scale = np.where(largest > 0, largest, 1.0) / 127
            array = np.rint(array / scale)
            self.scale = tf.Variable(scale.astype("float32"), trainable=False)
        self.values = tf.Variable(tf.cast(array, kind), trainable=False)

    def __call__(self):
        value = tf.cast(self.values, tf.float32)
        return value if self.scale is None else value * self.scale


def _renamed(function, names):
    """The function, with its first arguments by these names."""

    def run(**inputs):
        return function(*[inputs.pop(name) for name in names], **inputs)

    return run
