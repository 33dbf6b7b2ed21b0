"""Shows the progress of a long computation on standard error."""

import sys
import time
from collections.abc import Callable

OFTEN, SELDOM = 1.0, 60.0  # seconds between two reports on a terminal, and in a file or pipe
WIDTH = 20  # characters of a bar
_open_bars = [0]  # 1 if the last line on the terminal is a bar, otherwise 0


def make_progress(
    what: str, total: int | None = None, total_tokens: int | None = None, shown: bool = True
) -> Callable[..., None]:
    """Returns a function that counts items and tokens, and shows their numbers at intervals.

    The function is called as `progress(items, tokens)` with the numbers of items and tokens since
    the last call. `what` is the name of the items, such as "sentences". If the number of all items
    or of all tokens is given, the time left is shown, and a terminal or notebook shows a bar, which
    is redrawn once per second. Otherwise, a terminal shows a line per second. In a file or pipe, a
    line is written once per minute. With `shown=False`, nothing is shown.
    """
    begin = last = time.monotonic()
    things = tokens = 0
    is_terminal = sys.stderr.isatty() or "ipykernel" in sys.modules
    pause = OFTEN if is_terminal else SELDOM

    def progress(more: int, more_tokens: int = 0) -> None:
        nonlocal last, things, tokens
        things, tokens, now = things + more, tokens + more_tokens, time.monotonic()
        done, whole = (things, total) if total else (tokens, total_tokens)
        is_end = bool(_open_bars[0] and whole and done >= whole)
        if not shown or not (is_end or now - last >= pause):
            return
        last, spent = now, max(now - begin, 1e-9)
        counted, unit = (tokens, "tokens") if tokens else (things, what)
        line = f"{things:,} {what}, {tokens:,} tokens" if tokens else f"{things:,} {what}"
        line += f", {counted / spent:,.0f} {unit}/s"
        if whole and done:
            left = spent * max(whole - done, 0) / done
            line += f", {left // 60:.0f}:{left % 60:02.0f} left"
        if not (is_terminal and whole):
            sys.stderr.write(f"{line}\n")
        else:
            share = min(done / whole, 1.0)
            bar = "#" * int(WIDTH * share)
            sys.stderr.write(f"\r\033[K{share:4.0%} [{bar:{WIDTH}}] {line}")
            _open_bars[0] = 1
            if is_end:
                end_bar()
        sys.stderr.flush()

    return progress


def end_bar() -> None:
    """Ends the line of a bar, if there is one, so that a message begins on a line of its own."""
    if _open_bars[0]:
        _open_bars[0] = 0
        sys.stderr.write("\n")
