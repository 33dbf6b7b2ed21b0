"""Tests the reports of commands on their progress."""

from tfreps._src.cli import progress


def test_a_terminal_sees_every_line_and_a_file_those_that_stay(capsys, monkeypatch):
    def say():
        progress.say_progress("half way", progress=True)
        progress.say_progress("done", final=True)
        return capsys.readouterr().err

    assert say() == "done\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert say() == "\r\033[Khalf way\r\033[Kdone\n"


def test_totals():
    given = []
    say = progress.of_totals(lambda *more: given.append(more))
    say(10, 600)
    say(15, 1000)
    assert given == [(10, 600), (5, 400)]
