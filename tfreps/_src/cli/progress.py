"""Prints the progress of a command to standard error."""

import sys
import time
from collections.abc import Callable

OFTEN, SELDOM = 1.0, 10.0  # seconds between lines on a terminal, and in a file or pipe


def make_progress(what: str, total: int | None = None) -> Callable[[int, int], None]:
    """Returns a function that counts items and tokens, and prints their numbers at intervals.

    The function is called as `progress(items, tokens)` with the numbers of items and tokens since
    the last call. `what` is the name of the items in the lines, such as "sentences".
    The lines are printed at most once per second on a terminal, and at most every 10 seconds
    otherwise. They contain the speed and, if `total` is given, the time left. The speed and
    `total` are in tokens, or in items if the function is called without numbers of tokens.
    """
    begin = last = time.monotonic()
    things = tokens = 0
    pause = OFTEN if sys.stderr.isatty() else SELDOM

    def progress(more: int, more_tokens: int = 0) -> None:
        nonlocal last, things, tokens
        things, tokens, now = things + more, tokens + more_tokens, time.monotonic()
        if now - last >= pause:
            counted, unit = (tokens, "tokens") if tokens else (things, what)
            last, rate = now, counted / (now - begin)
            line = f"{things:,} {what}, {tokens:,} tokens" if tokens else f"{things:,} {what}"
            line += f", {rate:,.0f} {unit}/s"
            if total is not None and rate:
                left = (total - counted) / rate
                line += f", {left // 60:.0f}:{left % 60:02.0f} left"
            print(line, file=sys.stderr, flush=True)

    return progress


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
