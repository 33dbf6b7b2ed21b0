"""Tests the progress lines: none at first, then one at each interval."""

from tfreps._src.cli import progress


def test_says_how_far_it_is(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    say = progress.make_progress("lines")
    said = []
    for seconds in (1, 8, 2, 9, 1):
        now[0] += seconds
        say(100, 2000)
        said.append(capsys.readouterr().err)
    assert [bool(text) for text in said] == [False, False, True, False, True]
    assert said[2] == "300 lines, 6,000 tokens, 545 tokens/s\n"


def test_a_terminal_sees_every_line_and_a_file_those_that_stay(capsys, monkeypatch):
    def say():
        progress.say_progress("half way", progress=True)
        progress.say_progress("done", final=True)
        return capsys.readouterr().err

    assert say() == "done\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert say() == "\r\033[Khalf way\r\033[Kdone\n"


def test_totals_and_the_time_that_is_left(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    say = progress.of_totals(progress.make_progress("lines", 5000))
    say(10, 600)
    now[0] = 20.0
    say(15, 1000)
    assert capsys.readouterr().err == "15 lines, 1,000 tokens, 50 tokens/s, 1:20 left\n"


def test_items_without_tokens(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    say = progress.make_progress("texts", 4000)
    now[0] = 20.0
    say(1000)
    assert capsys.readouterr().err == "1,000 texts, 50 texts/s, 1:00 left\n"
