"""Portable graphs, which consist of operations that ONNX and LiteRT have.

Some fast operations of TensorFlow have no counterpart in these runtimes: tensor arrays in loops,
`tf.unique`, and ragged tensors. Inside `portable_graph`, layers replace these operations with
others, and the results are equal up to rounding.
"""

import contextlib
import contextvars

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
