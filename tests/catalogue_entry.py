"""Entries of the catalogue, and the shapes that they share."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

B, T = 3, 5
LENGTHS = np.array([5, 2, 0])
MASK = np.arange(T) < LENGTHS[:, None]
RNG = np.random.default_rng(0)


class Entry(NamedTuple):
    """Information that the checks of tests/test_conformance.py need.

    Args:
        cls: type. The layer or model.
        options: function that returns the constructor arguments, most of them other than the
            defaults.
        inputs: dict from the name of a call argument to a tuple (array, letters of its axes). B
            is the batch; T may be padded. The first argument is passed by position. For a dict
            of arrays, the letters apply to all of them or are a dict as well.
        outputs: list of the letters of the axes of each output, in the order of
            `tf.nest.flatten`. S is T with sentence boundaries. `None` for an output that does
            not separate sentences.
        nested: tuple of the names of options that are models.
    """

    cls: type
    options: Callable[[], dict]
    inputs: dict
    outputs: list
    nested: tuple = ()

    def make(self, dtype=None):
        layer = self.cls(**self.options(), dtype=dtype)
        if not layer.built:
            self.call(layer, self.arrays())
        return layer

    def arrays(self):
        return {name: array for name, (array, _) in self.inputs.items()}

    def call(self, layer, arrays, **kwargs):
        first, *rest = arrays
        return layer(arrays[first], **{name: arrays[name] for name in rest}, **kwargs)


def normal(*shape):
    return RNG.normal(size=shape).astype("float32")
