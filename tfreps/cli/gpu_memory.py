"""allow_memory_growth: lets TensorFlow allocate GPU memory as needed."""

import os

GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"


def allow_memory_growth():
    """Sets the environment variable TF_FORCE_GPU_ALLOW_GROWTH to "true" unless it is set.

    TensorFlow reads the variable when it first uses a GPU. If it is not set, or is "false", a
    process reserves almost all memory of every visible GPU, and a second process on the same GPU
    fails. Processes that this process starts later inherit the variable.

    Example:
    >>> allow_memory_growth()
    >>> os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] in ("true", "false")
    True
    """
    os.environ.setdefault(GROWTH, "true")
