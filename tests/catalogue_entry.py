"""What the catalogue's entries are made of."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

B, T = 3, 5
LENGTHS = np.array([5, 2, 0])
MASK = np.arange(T) < LENGTHS[:, None]
RNG = np.random.default_rng(0)


class Entry(NamedTuple):
    """What the checks of tests/test_conformance.py need to know.

    Args:
        cls: the layer or model.
        options: makes the constructor's arguments, as many as possible other than the defaults.
        inputs: name of a call argument -> (array, letters of its axes). B is the batch; T
            may be padded. The first is given by position. Of a dict of arrays, the letters
            of all of them, or a dict too.
        outputs: the letters of each output's axes, in the order of `tf.nest.flatten`; S is
            T with sentence boundaries; None for an output that does not keep sentences apart.
        nested: names of options that are models themselves.
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
