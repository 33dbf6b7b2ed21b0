"""Portable graphs, which consist of operations that ONNX and LiteRT have.

Some fast operations of TensorFlow have no counterpart in these runtimes: tensor arrays in loops,
`tf.unique`, and ragged tensors. Inside `portable_graph`, layers replace these operations with
others, and the results are equal up to rounding.
"""

import contextlib
import contextvars
import sys

import tensorflow as tf

_PORTABLE = contextvars.ContextVar("portable", default=False)


@contextlib.contextmanager
def portable_graph():
    """Context manager in which layers use only operations that ONNX Runtime and LiteRT support.

    The context applies to layers that are called or traced inside it.
    """
    token = _PORTABLE.set(True)
    try:
        yield
    finally:
        _PORTABLE.reset(token)


def is_portable():
    """Returns True inside `portable_graph`."""
    return _PORTABLE.get()


def check_not_exported_by_keras() -> None:
    """Raises a ValueError if Keras's `export` is tracing the model in the format "onnx".

    ONNX Runtime rejects the loops of the file that Keras would write. Keras does not pass the
    format to layers, so the function looks for its caller.
    """
    if tf.executing_eagerly():
        return
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "keras.src.export.onnx":
            raise ValueError(
                "The method `export` of Keras cannot write the layer CRF in the format 'onnx'. "
                "Call `tfreps.export.write_model(model, 'model.onnx')`."
            )
        frame = frame.f_back
