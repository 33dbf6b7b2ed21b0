"""Tests that signals end a command cleanly: at once, or where it checks for them."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from tests.conftest import CHECKOUT
from tfreps._src.callbacks.stop_signals import (
    Stopped,
    go_on_with,
    held_back,
    is_stop_requested,
    raise_if_requested,
    stopped_by_signals,
)


@pytest.fixture(autouse=True)
def interruptible():
    """Enables SIGINT, which is ignored if the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_raises_where_nothing_holds_it_back(number, code):
    before = signal.getsignal(number)
    with pytest.raises(Stopped) as raised:
        with stopped_by_signals():
            send(number)
    assert raised.value.code == code
    assert str(raised.value) == f"stopped by {signal.Signals(number).name}."
    assert signal.getsignal(number) is before and not is_stop_requested()


def test_a_signal_waits_until_it_is_asked_for(capfd):
    done = []
    with pytest.raises(Stopped, match="stopped by SIGTERM at step 7. Continue with: tfreps x$"):
        with stopped_by_signals():
            go_on_with("tfreps x")
            with held_back():
                raise_if_requested(" at step 6")
                send(signal.SIGTERM)
                done.append("step 7")
                assert is_stop_requested()
                raise_if_requested(" at step 7")
    assert done == ["step 7"]
    assert (
        "SIGTERM: stopping after this step; a second signal ends the command at once."
        in capfd.readouterr().err
    )


def test_a_signal_waits_until_the_end_at_most():
    done = []
    with pytest.raises(Stopped, match="stopped by SIGTERM.$"):
        with stopped_by_signals():  # the earlier command is forgotten
            with held_back():
                send(signal.SIGTERM)
                done.append("all")
            done.append("more")
    assert done == ["all"]


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopped_by_signals():
            send(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_nothing_is_done():
    before, done = signal.getsignal(signal.SIGTERM), []

    def work():
        with stopped_by_signals():
            done.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [before]


@pytest.mark.slow
def test_a_second_signal_ends_at_once():
    code = (
        "import os, signal\n"
        "from tfreps._src.callbacks.stop_signals import held_back, stopped_by_signals\n"
        "with stopped_by_signals(), held_back():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print('goes on', flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print('never', flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGTERM and done.stdout == "goes on\n"
