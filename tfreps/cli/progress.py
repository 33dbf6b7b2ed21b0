"""Prints the progress of a program to standard error."""

import sys
import time
from collections.abc import Callable

OFTEN, SELDOM = 1.0, 10.0  # seconds between lines: on a terminal, and otherwise


def make_progress(what: str) -> Callable[[int, int], None]:
    """Returns a function that counts items and tokens and prints their totals and the speed.

    The lines are printed to standard error: at most one per second on a terminal, and at most one
    every 10 seconds otherwise. A program that ends earlier prints none.

    Args:
        what: str. Name of the items, such as `"lines"`.

    Returns:
        function of two ints: the number of items and the number of tokens since the last call.

    Example:
    >>> progress = make_progress("lines")
    >>> progress(1000, 20_000)
    """
    begin = last = time.monotonic()
    things = tokens = 0
    pause = OFTEN if sys.stderr.isatty() else SELDOM

    def progress(more: int, more_tokens: int) -> None:
        nonlocal last, things, tokens
        things, tokens, now = things + more, tokens + more_tokens, time.monotonic()
        if now - last >= pause:
            last, rate = now, tokens / (now - begin)
            line = f"{things:,} {what}, {tokens:,} tokens, {rate:,.0f} tokens/s"
            print(line, file=sys.stderr, flush=True)

    return progress


def say_progress(text, final=False, progress=False):
    """Prints a line to standard error; on a terminal, replaces the last line if it was not final.

    Args:
        text: str. The line.
        final: bool. Whether the line stays when the next one is printed. Defaults to `False`.
        progress: bool. Whether the line is printed only on a terminal. Defaults to `False`.
    """
    if sys.stderr.isatty():
        end = "\n" if final else ""
        print(f"\r\033[K{text}", end=end, file=sys.stderr, flush=True)
    elif not progress:
        print(text, file=sys.stderr, flush=True)
