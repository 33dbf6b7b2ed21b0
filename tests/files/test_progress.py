"""Tests the reports of progress: nothing at first, then a line or a bar at each interval."""

import pytest

from tfreps._src.cli import standard_streams
from tfreps._src.files import progress


@pytest.fixture
def now(monkeypatch):
    """Returns a list with the time in seconds, which tests change."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.delitem(progress.sys.modules, "ipykernel", raising=False)
    return now


def test_a_line_per_minute_without_a_terminal(now, capsys):
    say, said = progress.make_progress("lines"), []
    for seconds in (1, 58, 2, 59, 1):
        now[0] += seconds
        say(100, 2000)
        said.append(capsys.readouterr().err)
    assert [bool(text) for text in said] == [False, False, True, False, True]
    assert said[2] == "300 lines, 6,000 tokens, 98 tokens/s\n"


def test_the_time_that_is_left(now, capsys):
    """After 120 seconds, a quarter is done, by tokens or by items: 360 seconds are left."""
    by_tokens = progress.make_progress("lines", total_tokens=4000)
    by_items = progress.make_progress("texts", 4000)
    both = progress.make_progress("lines", 40)
    now[0] += 120.0
    for say, *done in (by_tokens, 15, 1000), (by_items, 1000), (both, 10, 3):
        say(*done)
    assert capsys.readouterr().err.splitlines() == [
        "15 lines, 1,000 tokens, 8 tokens/s, 6:00 left",
        "1,000 texts, 8 texts/s, 6:00 left",
        "10 lines, 3 tokens, 0 tokens/s, 6:00 left",
    ]


def test_a_terminal_has_a_bar_if_the_total_is_known(now, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    say, said = progress.make_progress("texts", 400), []
    for seconds in (0.5, 1.5, 0.5, 0.1):
        now[0] += seconds
        say(100)
        said.append(capsys.readouterr().err)
    start = "\r\033[K"
    assert said == [
        "",
        f"{start} 50% [##########          ] 200 texts, 100 texts/s, 0:02 left",
        "",
        f"{start}100% [####################] 400 texts, 154 texts/s, 0:00 left\n",
    ]
    say = progress.make_progress("texts")
    now[0] += 2
    say(30)
    assert capsys.readouterr().err == "30 texts, 15 texts/s\n"


def test_a_message_ends_the_line_of_a_bar(now, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    say = progress.make_progress("texts", 4)
    now[0] += 2
    say(1)
    standard_streams.say("a message")
    standard_streams.say("another")
    assert capsys.readouterr().err.endswith(" left\na message\nanother\n")


def test_nothing_is_shown_if_that_is_asked(now, capsys):
    say = progress.make_progress("texts", 4, shown=False)
    now[0] += 2000
    say(4)
    assert capsys.readouterr().err == ""
