"""Portable graphs, which consist of operations that ONNX and LiteRT have.

Some fast operations of TensorFlow have no counterpart in these runtimes: tensor arrays in loops,
`tf.unique`, and ragged tensors. Layers that use them have a second form for `portable_graph`, which
gives the same results up to rounding.
"""

import contextlib
import contextvars

_PORTABLE = contextvars.ContextVar("portable", default=False)


@contextlib.contextmanager
def portable_graph():
    """Context manager in which layers use only operations that ONNX Runtime and LiteRT support.

    It applies to layers that are called or traced inside the context.
    """
    token = _PORTABLE.set(True)
    try:
        yield
    finally:
        _PORTABLE.reset(token)


def is_portable():
    """Returns True inside `portable_graph`."""
    return _PORTABLE.get()
