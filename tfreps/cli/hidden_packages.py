"""hidden_packages: hides packages that TensorFlow and Keras import for parts of their own."""

import contextlib
import sys

# TensorFlow ends with the import of Keras, if it can be imported.
KERAS = ("keras.src",)
# Keras imports these if they are installed, for its wrappers for scikit-learn and its pictures.
OF_KERAS = "sklearn", "matplotlib"


@contextlib.contextmanager
def hidden_packages(*names: str):
    """Context manager in which packages seem not to be installed.

    Afterwards they can be imported as before. Packages that were already imported are not hidden.

    Args:
        *names: str. Names of packages.

    Example:
    >>> with hidden_packages("wave"):
    ...     import wave
    Traceback (most recent call last):
    ModuleNotFoundError: import of wave halted; None in sys.modules
    >>> import wave
    """
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))
    try:
        yield
    finally:
        for name in absent:
            if sys.modules[name] is None:
                del sys.modules[name]
