import json

from benchmarks import peer_bert_tokens


def test_fills_in_the_ids(monkeypatch, tmp_path):
    path = tmp_path / "bert_pieces.json"
    cases = {"vocabulary": ["a"], "texts": ["a", "é"], "options": [{"lowercase": True}]}
    path.write_text(json.dumps(cases))
    monkeypatch.setattr(peer_bert_tokens, "FILE", path)
    monkeypatch.setattr(peer_bert_tokens, "peer_ids", lambda vocabulary, texts, options: [[0], [7]])
    assert peer_bert_tokens.main([]) == 0
    assert json.loads(path.read_text())["options"] == [{"lowercase": True, "ids": [[0], [7]]}]


def test_the_file_is_there():
    assert peer_bert_tokens.FILE.is_file()
