"""Imports TensorFlow without the log lines that TF_CPP_MIN_LOG_LEVEL excludes."""

import contextlib
import os
import re
import sys
import tempfile

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
SEVERITIES = b"IWEF"  # information, warning, error, fatal
# A line of the C++ log, after and before the log is initialized.
LOG_LINE = re.compile(rb"([IWEF])\d{4} |\d{4}-\d\d-\d\d .*?: ([IWEF]) ")
# Lines about a missing GPU, some of which are marked as errors.
WITHOUT_GPU = re.compile(rb".*\b(cuda_platform|cudart_stub)\.cc:\d+\]")
# The line about a log that is not initialized, and the second line about the CPU.
AROUND = b"WARNING: All log messages before absl::", b"To enable the following instructions:"


@contextlib.contextmanager
def quiet_tensorflow():
    """Context manager that filters TensorFlow's C++ log on stderr while TensorFlow is imported.

    TensorFlow 2.21 prints some lines regardless of TF_CPP_MIN_LOG_LEVEL. The text that is written
    to stderr in this context is buffered and then printed without the excluded lines:

    - If the variable is not set, it is set to "3". Of the lines that are printed nevertheless,
      INFO lines and lines about missing GPUs are excluded.
    - At level 1, INFO lines are excluded; at level 2, also warnings; at level 3, also errors.
    - At level 0, no line is excluded, and the text is not buffered.

    Unless the level is 0, two explanatory lines are also excluded: one about the log, and one about
    the instructions of the CPU.
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
    """Returns True if a line should be printed.

    Args:
        line: bytes. Line that TensorFlow or other code wrote to stderr.
        given: str. Value of TF_CPP_MIN_LOG_LEVEL, or `None` if the variable was not set.

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
    """Returns the lowest severity that is shown. Non-numeric text counts as 0, as in TensorFlow."""
    try:
        return max(0, int(text))
    except ValueError:
        return 0


def temporary_file():
    """Opens an unnamed temporary file, or a file in memory if no temporary folder is writable."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        if not hasattr(os, "memfd_create"):
            raise
        return open(os.memfd_create("stderr"), "w+b")
