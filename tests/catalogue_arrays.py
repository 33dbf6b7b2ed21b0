"""Slices and pads the arrays of the catalogue by the letters of their axes."""

import numpy as np
import tensorflow as tf


def of(axes, name):
    """Returns the letters of one array of a dict."""
    return axes[name] if isinstance(axes, dict) else axes


def take(value, axes, letter, index):
    """Slices an array, or a dict of arrays, along the axis with that letter, if there is one."""
    if isinstance(value, dict):
        return {n: take(array, of(axes, n), letter, index) for n, array in value.items()}
    if axes is None or letter not in axes:
        return value
    return np.asarray(value)[(slice(None),) * axes.index(letter) + (index,)]


def pad(value, axes, columns):
    """Appends columns of zeros along the axis T."""
    if isinstance(value, dict):
        return {n: pad(array, of(axes, n), columns) for n, array in value.items()}
    if "T" not in axes:
        return value
    return np.pad(value, [(0, columns if axis == "T" else 0) for axis in axes])


def signature(value, axes):
    """Returns the specs of `value` with unknown batch size and length."""
    if isinstance(value, dict):
        return {n: signature(array, of(axes, n)) for n, array in value.items()}
    shape = [None if axis in "BT" else size for axis, size in zip(axes, value.shape, strict=True)]
    return tf.TensorSpec(shape, value.dtype)
