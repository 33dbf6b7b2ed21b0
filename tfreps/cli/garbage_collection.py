"""without_collection: imports packages without searching their objects for garbage."""

import atexit
import contextlib
import gc
import sys


@contextlib.contextmanager
def without_collection():
    """Context manager in which Python's garbage collector is off, for the imports of a program.

    The collector searches the objects of a process again and again while their number grows, and
    twice when the process exits. TensorFlow and Keras create about 400,000 objects and almost no
    garbage, so that these searches take more than a second of each program. The objects that exist
    at the end of the context, and those that exist when the process exits, are therefore excluded
    from later searches (`gc.freeze`). Objects without references are freed as before.

    The context has no effect if TensorFlow is already imported, as in a test or a notebook that
    calls the `main` of a program.
    """
    if "tensorflow" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.freeze)
        gc.enable()
