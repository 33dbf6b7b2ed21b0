"""stopped_by_signals: SIGTERM and SIGINT end a program in order, with a checkpoint of training."""

import contextlib
import os
import signal
import threading
import types

SIGNALS = signal.SIGINT, signal.SIGTERM
# Signals are the whole process's, and so is this: the number of the one that came; whether it
# waits for its turn; what to say about going on.
_state = types.SimpleNamespace(number=None, is_held=False, way_on="")


class Stopped(KeyboardInterrupt):
    """A signal has ended the program.

    Attributes:
        code: int. The exit code of such an end: 130 after SIGINT, 143 after SIGTERM.
    """

    def __init__(self, number, place=""):
        name = signal.Signals(number).name
        super().__init__(f"stopped by {name}{place}.{_state.way_on}")
        self.code = 128 + number


@contextlib.contextmanager
def stopped_by_signals():
    """Has SIGINT and SIGTERM raise `Stopped`, while inside; a second one ends the process at once.

    What is written whole or not at all stays so. Within `held_back` the signal waits. A signal
    that the process ignores, as under `nohup`, stays ignored. In another thread than the main one,
    which alone gets signals, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS}
    _state.number, _state.is_held, _state.way_on = None, False, ""
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, _handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _state.number = None


def go_on_with(command):
    """Sets the command that is named where a signal ends the program.

    Args:
        command: str, as it is typed.
    """
    _state.way_on = f" Go on with: {command}"


@contextlib.contextmanager
def held_back():
    """Has a signal wait while inside: for `raise_if_asked`, or the end.

    Raises, at the end:
        Stopped: a signal came.
    """
    _state.is_held = True
    try:
        yield
    finally:
        _state.is_held = False
    raise_if_asked()


def is_asked():
    """Whether a signal has asked the program to stop."""
    return _state.number is not None


def raise_if_asked(place=""):
    """Raises `Stopped` if a signal came.

    Args:
        place: str. Where the program is, for the message: `" at step 7"`.
    """
    if is_asked():
        raise Stopped(_state.number, place)


def _handle(number, frame):
    for each in SIGNALS:
        if signal.getsignal(each) is _handle:
            signal.signal(each, signal.SIG_DFL)
    _state.number = number
    if not _state.is_held:
        raise Stopped(number)
    # Not `print`, which this may have interrupted.
    name = signal.Signals(number).name
    with contextlib.suppress(OSError):
        text = f"\n{name}: stopping after this step; a second signal ends the program at once.\n"
        os.write(2, text.encode())
