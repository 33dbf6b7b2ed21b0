"""quiet_tensorflow: imports TensorFlow without its log lines, as TF_CPP_MIN_LOG_LEVEL asks."""

import contextlib
import os
import re
import sys
import tempfile

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
SEVERITIES = b"IWEF"  # information, warning, error, fatal
# A line of the C++ log before and after it is set up.
LOG_LINE = re.compile(rb"([IWEF])\d{4} |\d{4}-\d\d-\d\d .*?: ([IWEF]) ")
# What TensorFlow says where there is no GPU, marked as an error or not.
WITHOUT_GPU = re.compile(rb".*\b(cuda_platform|cudart_stub)\.cc:\d+\]")
# What says that the log is not set up, and the second line of what is said of the CPU.
AROUND = b"WARNING: All log messages before absl::", b"To enable the following instructions:"


@contextlib.contextmanager
def quiet_tensorflow():
    """Keeps the lines of TensorFlow's C++ log off stderr while TensorFlow is imported.

    TensorFlow 2.21 prints some of them whatever TF_CPP_MIN_LOG_LEVEL says. So what is written to
    stderr meanwhile is held back, and passed on afterwards without

    - information and what is said of missing GPUs, if that variable is not set: it becomes "3";
    - information at level 1, warnings at 2, errors at 3 and above, if it is.
    """
    given = os.environ.get(LEVEL)
    if given is None:
        os.environ[LEVEL] = "3"
    elif level_of(given) == 0:
        yield
        return
    sys.stderr.flush()
    stderr = os.dup(2)
    try:
        with temporary_file() as held:
            os.dup2(held.fileno(), 2)
            try:
                yield
            finally:
                sys.stderr.flush()
                os.dup2(stderr, 2)
                held.seek(0)
                for line in held:
                    if is_wanted(line, given):
                        os.write(2, line)
    finally:
        os.close(stderr)


def is_wanted(line: bytes, given: str | None) -> bool:
    """Whether a line is passed on.

    Args:
        line: bytes that TensorFlow, or anything else, wrote.
        given: str. What TF_CPP_MIN_LOG_LEVEL was set to; None if it was not.

    Example:
    >>> is_wanted(b"W0000 00:00:1.5 8849 gpu.cc:1] slow", None)
    True
    >>> is_wanted(b"W0000 00:00:1.5 8849 gpu.cc:1] slow", "2")
    False
    """
    if line.startswith(AROUND) or (given is None and WITHOUT_GPU.match(line)):
        return False
    found = LOG_LINE.match(line)
    least = 1 if given is None else level_of(given)
    return not found or SEVERITIES.index(found[1] or found[2]) >= least


def level_of(text: str) -> int:
    """The least severity that is shown; 0 for what is no number, as in TensorFlow."""
    try:
        return max(0, int(text))
    except ValueError:
        return 0


def temporary_file():
    """A file without a name, in memory where no folder for temporary files can be written."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        if not hasattr(os, "memfd_create"):
            raise
        return open(os.memfd_create("stderr"), "w+b")
