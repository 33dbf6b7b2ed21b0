"""hidden_packages: hides packages that TensorFlow and Keras import for parts of their own."""

import contextlib
import sys

# TensorFlow contains an old version of Keras, which imports SciPy for sparse arrays, and ends with
# the import of Keras 3. Both are left out if they cannot be imported.
KERAS = "keras.src", "scipy"
# Keras 3 imports these if they are installed, for its wrappers for scikit-learn, its pictures and
# the data frames that it accepts.
OF_KERAS = "sklearn", "matplotlib", "pandas", "scipy"


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
