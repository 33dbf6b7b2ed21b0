"""Renames the arrays of TensorFlow models of transformers to the names of PyTorch models."""

from collections.abc import Mapping

import numpy as np

from tfreps.convert.safetensors_files import Arrays

# Names of weights that differ; all other last parts of names are the same.
_WEIGHTS = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}


def is_tensorflow(shapes: Mapping) -> bool:
    """Returns True if arrays have the names that TensorFlow models of transformers give them."""
    return any("/" in name for name in shapes)


def renamed(arrays: Arrays) -> Arrays:
    """Returns the arrays under the names of PyTorch models, with transposed kernels."""
    names = {pytorch_name(name): name for name in arrays.shapes}

    def array(name: str) -> np.ndarray:
        value = arrays.array(names[name])
        return value.T if _is_kernel(names[name]) else value

    shapes = {
        ours: tuple(arrays.shapes[name])[:: -1 if _is_kernel(name) else 1]
        for ours, name in names.items()
    }
    return Arrays(shapes, array)


def pytorch_name(name: str) -> str:
    """Returns the name that PyTorch models of transformers give to an array.

    In a TensorFlow model, `_._` precedes the number of a block, and `___` follows the name of a
    Keras layer that PyTorch models do not have.
    """
    *path, last = name.removesuffix(":0").split("/")
    path = [part.rpartition("___")[2].replace("_._", ".") for part in path]
    return ".".join([*path, _WEIGHTS.get(last, last)])


def _is_kernel(name: str) -> bool:
    return name.removesuffix(":0").endswith("/kernel")
