import io
import json

from benchmarks import peer_loop


def test_answers_each_line_with_that_many_seconds(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n3\n"))
    peer_loop.answer(lambda: None)
    ready, two, three = map(json.loads, capsys.readouterr().out.splitlines())
    assert ready == "ready" and (len(two), len(three)) == (2, 3) and min(two + three) >= 0


def test_chooses_the_number_of_threads(monkeypatch):
    chosen = []
    monkeypatch.setattr(peer_loop, "seconds", lambda call: {1: 3.0, 2: 2.0, 4: 2.5}[chosen[-1]])
    assert peer_loop.fastest(None, chosen.append, choices=(1, 2, 4)) == 2
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setattr(peer_loop, "fastest", lambda call, set_threads: 2)
    peer_loop.answer(None, chosen.append)
    assert chosen[-1] == 2
