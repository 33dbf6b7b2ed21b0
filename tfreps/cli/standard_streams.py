"""Prepares the standard streams of a command, and finds those that cannot be written to."""

import contextlib
import logging
import os
import select
import stat
import sys

NAMES = {"stdin": "standard input", "stdout": "standard output", "stderr": "standard error"}


def prepare() -> None:
    """Connects closed streams to the null device, and makes standard output use UTF-8.

    A stream that the shell closed (`>&-`) leaves its descriptor free: without the null device, the
    next file that is opened would get it, and the output of libraries would end up in that file.
    The environment variable PYTHONIOENCODING overrides the encoding. Otherwise, file names that are
    not UTF-8 are written as their original bytes. Warnings that the library logs are printed to
    standard error.
    """
    for number, name in enumerate(NAMES):
        if getattr(sys, name) is None:
            _open_null(number)
            mode = "r" if name == "stdin" else "w"
            stream = open(number, mode, encoding="utf-8", closefd=False)
            setattr(sys, name, stream)
    if "PYTHONIOENCODING" not in os.environ and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    log = logging.getLogger("tfreps")
    if not any(isinstance(handler, _Lines) for handler in log.handlers):
        log.addHandler(_Lines(logging.WARNING))


def flush() -> None:
    """Flushes standard output.

    Raises:
        OSError: If standard output cannot be written to.
    """
    sys.stdout.flush()


def drop_unwritable() -> list[str]:
    """Redirects standard output and standard error to the null device if they are not writable.

    A stream is not writable if the program that reads it has ended (`| head`) or its disk is full.

    Returns:
        list of str. Names of the redirected streams: "standard output", "standard error".
    """
    dropped = []
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        try:
            stream.flush()
            is_lost = _has_no_reader(stream) or _is_full(stream)
        except OSError:
            is_lost = True
        except ValueError:  # closed by the program
            continue
        if is_lost:
            _drop(stream)
            dropped.append(NAMES[name])
    return dropped


def say(text: str) -> None:
    """Prints a line to standard error; ignores errors."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr)


class _Lines(logging.Handler):
    """Handler that prints log records to the current standard error."""

    def emit(self, record):
        with contextlib.suppress(OSError, ValueError):
            after_progress = "\n" if sys.stderr.isatty() else ""
            say(f"{after_progress}{record.levelname.lower()}: {record.getMessage()}")


def _open_null(number: int) -> None:
    """Opens the null device with this descriptor unless the descriptor is in use."""
    try:
        os.fstat(number)
    except OSError:
        found = os.open(os.devnull, os.O_RDWR)
        if found != number:
            os.dup2(found, number)
            os.close(found)
        os.set_inheritable(number, True)


def _has_no_reader(stream) -> bool:
    """Returns True if the program that reads a pipe has ended, even if no text is buffered."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(found & select.POLLERR for _, found in poll.poll(0))
    except (AttributeError, OSError):  # no poll on Windows, no descriptor in tests
        return False


def _is_full(stream) -> bool:
    """Returns True if a file is on a full disk, even if no text is buffered."""
    try:
        number = stream.fileno()
    except OSError:  # no descriptor in tests
        return False
    try:
        os.write(number, b"")  # fails for /dev/full
        is_file = stat.S_ISREG(os.fstat(number).st_mode)
        return is_file and os.fstatvfs(number).f_bavail == 0
    except (AttributeError, OSError):  # no fstatvfs on Windows
        return False if os.name == "nt" else True


def _drop(stream) -> None:
    """Redirects a stream to the null device, including its buffered text."""
    null = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(null, stream.fileno())
        stream.flush()
    os.close(null)
