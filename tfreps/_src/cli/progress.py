"""Prints the progress of a command to standard error."""

import sys
from collections.abc import Callable


def of_totals(progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """Adapts a function that takes increases, so that it can be called with totals.

    Returns a function that takes the number of all items and the number of all tokens so far, and
    calls `progress` with the increase of both numbers since the previous call.
    """
    before = [0, 0]

    def update(things: int, tokens: int) -> None:
        progress(things - before[0], tokens - before[1])
        before[:] = things, tokens

    return update


def say_progress(text, final=False, progress=False):
    """Prints a line to standard error.

    On a terminal, the line replaces the line printed before it, unless that line was printed with
    `final=True`. If `progress` is `True`, the line is printed only on a terminal.
    """
    if sys.stderr.isatty():
        end = "\n" if final else ""
        print(f"\r\033[K{text}", end=end, file=sys.stderr, flush=True)
    elif not progress:
        print(text, file=sys.stderr, flush=True)
