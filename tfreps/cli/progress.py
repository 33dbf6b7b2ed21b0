"""make_progress: a line on standard error now and then, that says how far a program is."""

import sys
import time
from collections.abc import Callable

OFTEN, SELDOM = 1.0, 10.0  # seconds between lines: on a terminal, and elsewhere


def make_progress(what: str) -> Callable[[int, int], None]:
    """A function to call with how much was done since the last call.

    The first line comes after some seconds: what is quick says nothing.

    Args:
        what: what is counted, such as "lines".

    Returns:
        function of the number of things, and of their tokens.

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
