"""Standard input, output and error of a command: closed, without a reader, in UTF-8."""

import contextlib
import logging
import os
import select
import sys

NAMES = {"stdin": "standard input", "stdout": "standard output", "stderr": "standard error"}


def prepare() -> None:
    """Opens closed streams as the null device, and writes standard output in UTF-8.

    A stream that the shell closed (`>&-`) leaves its number free: the next file that is opened
    takes it, and what libraries print ends up in that file. The encoding that the environment
    variable PYTHONIOENCODING asks for is kept. File names that are not UTF-8 are written byte by
    byte. What the library logs as a warning becomes a line on standard error.
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
    """Writes out what standard output holds back.

    Raises:
        OSError: it cannot be written.
    """
    sys.stdout.flush()


def drop_unwritable() -> list[str]:
    """Redirects streams that can no longer be written, as after `| head`, to the null device.

    Returns:
        list of str. How to call these streams: "standard output", "standard error".
    """
    dropped = []
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        try:
            stream.flush()
            is_lost = _has_no_reader(stream)
        except OSError:
            is_lost = True
        except ValueError:  # closed by the program
            continue
        if is_lost:
            _drop(stream)
            dropped.append(NAMES[name])
    return dropped


def say(text: str) -> None:
    """Prints a line to standard error, if anything can be printed there."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr)


class _Lines(logging.Handler):
    """Shows what is logged as lines on what standard error is at the time."""

    def emit(self, record):
        with contextlib.suppress(OSError, ValueError):
            after_progress = "\n" if sys.stderr.isatty() else ""
            say(f"{after_progress}{record.levelname.lower()}: {record.getMessage()}")


def _open_null(number: int) -> None:
    """Opens the null device under a number, unless a file has that number."""
    try:
        os.fstat(number)
    except OSError:
        found = os.open(os.devnull, os.O_RDWR)
        if found != number:
            os.dup2(found, number)
            os.close(found)
        os.set_inheritable(number, True)


def _has_no_reader(stream) -> bool:
    """Whether a stream is a pipe whose reader has gone; without a buffer `flush` finds nothing."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(found & select.POLLERR for _, found in poll.poll(0))
    except (AttributeError, OSError):  # no poll on Windows, no file in a test
        return False


def _drop(stream) -> None:
    """Lets the null device take what a stream holds back."""
    null = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(null, stream.fileno())
        stream.flush()
    os.close(null)
