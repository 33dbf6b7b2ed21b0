"""stopped_by_signals: ends a command cleanly on SIGINT or SIGTERM."""

import contextlib
import os
import signal
import threading
import types
from collections.abc import Iterator

SIGNALS = signal.SIGINT, signal.SIGTERM
# Signals belong to the whole process, so this state is global: the number of the received signal,
# whether signals are held back, and the sentence that says how to continue.
_state = types.SimpleNamespace(number=None, is_held=False, way_on="")


class Stopped(KeyboardInterrupt):
    """Exception raised when a signal ends the command.

    Attributes:
        code: int. Exit code of the command: 130 after SIGINT, 143 after SIGTERM.
    """

    def __init__(self, number: int, where: str = "") -> None:
        name = signal.Signals(number).name
        super().__init__(f"stopped by {name}{where}.{_state.way_on}")
        self.code: int = 128 + number


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Context manager in which SIGINT and SIGTERM raise `Stopped`.

    A second signal ends the process at once. Atomic file writes stay atomic. Inside `held_back`,
    the signal is delayed. A signal that the process ignores, such as SIGINT in a background job of
    a shell script, is still ignored. Only the main thread receives signals, so the context manager
    has no effect in other threads.
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


def go_on_with(command: str) -> None:
    """Sets the command that the message of `Stopped` suggests for continuing."""
    _state.way_on = f" Continue with: {command}"


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Context manager that delays the exception `Stopped` after a signal.

    The exception is raised by the next `raise_if_requested`, or when the context ends.
    """
    _state.is_held = True
    try:
        yield
    finally:
        _state.is_held = False
    raise_if_requested()


def is_stop_requested() -> bool:
    """Returns True if a signal has asked the command to stop."""
    return _state.number is not None


def request_stop(number: int = signal.SIGTERM) -> None:
    """Makes the next `raise_if_requested` raise `Stopped`, as if this signal was received.

    Has no effect if a signal was already received. `number` defaults to SIGTERM.
    """
    if _state.number is None:
        _state.number = number


def raise_if_requested(where: str = "") -> None:
    """Raises `Stopped` if a signal was received.

    `where`, such as `" at step 7"`, becomes part of the message. Defaults to `""`.
    """
    if is_stop_requested():
        raise Stopped(_state.number, where)


def _handle(number: int, frame: types.FrameType | None) -> None:
    for each in SIGNALS:
        if signal.getsignal(each) is _handle:
            signal.signal(each, signal.SIG_DFL)
    _state.number = number
    if not _state.is_held:
        raise Stopped(number)
    # `print` could fail here, because the signal may have interrupted another `print`.
    name = signal.Signals(number).name
    with contextlib.suppress(OSError):
        text = f"\n{name}: stopping after this step; a second signal ends the command at once.\n"
        os.write(2, text.encode())
