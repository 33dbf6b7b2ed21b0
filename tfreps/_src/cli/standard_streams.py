"""Standard streams of a command: closed, full or without a reader, and UTF-8 in any locale."""

import contextlib
import logging
import os
import sys

from tfreps._src.files.progress import end_bar


def prepare() -> None:
    """Connects closed streams to the null device, and makes standard output use UTF-8.

    A stream that the shell closed (`>&-`) leaves its descriptor free: without the null device, the
    next file that is opened would get it, and the output of libraries would end up in that file.
    The environment variable PYTHONIOENCODING overrides the encoding. Otherwise, file names that are
    not UTF-8 are written as their original bytes. Messages that the library logs are printed to
    standard error.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))
    if "PYTHONIOENCODING" not in os.environ and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    log = logging.getLogger("tfreps")
    if not any(isinstance(handler, _Lines) for handler in log.handlers):
        log.addHandler(_Lines(logging.INFO))
        logging.getLogger("tfreps._src").setLevel(logging.INFO)


def drop_unwritable() -> list[str]:
    """Connects standard output and standard error to the null device if they cannot be flushed.

    Returns:
        list of str. Names of these streams: "standard output", "standard error".
    """
    dropped = []
    for name, stream in {"standard output": sys.stdout, "standard error": sys.stderr}.items():
        try:
            stream.flush()
        except ValueError:  # raised if the stream is closed
            continue
        except OSError:
            dropped.append(name)
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
                stream.flush()
    return dropped


def say(text: str) -> None:
    """Prints a line to standard error, without raising an error if it cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        end_bar()
        print(text, file=sys.stderr)


class _Lines(logging.Handler):
    """Logging handler that prints log records to the current `sys.stderr`."""

    def emit(self, record):
        if record.levelno < logging.WARNING and not record.name.startswith("tfreps._src"):
            return  # `tfreps serve` prints its own messages
        after_progress = "\n" if not sys.stderr.closed and sys.stderr.isatty() else ""
        say(f"{after_progress}{record.levelname.lower()}: {record.getMessage()}")
