import io
import json

from benchmarks import peer_crf


def test_answers_each_line_with_that_many_seconds(monkeypatch, capsys):
    monkeypatch.setattr(peer_crf, "prepare", lambda *sizes: (lambda: None, lambda threads: None))
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n3\n"))
    assert peer_crf.main(["loss", "2", "3", "4", "1.0"]) == 0
    ready, two, three = map(json.loads, capsys.readouterr().out.splitlines())
    assert ready == "ready" and (len(two), len(three)) == (2, 3) and min(two + three) >= 0


def test_chooses_the_number_of_threads(monkeypatch):
    chosen = []
    monkeypatch.setattr(peer_crf, "seconds", lambda call: {1: 3.0, 2: 2.0, 4: 2.5}[chosen[-1]])
    assert peer_crf.fastest(None, chosen.append, choices=(1, 2, 4)) == 2
