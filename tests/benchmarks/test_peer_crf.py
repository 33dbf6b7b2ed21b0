from benchmarks import peer_crf


def test_answers_with_the_call_of_its_arguments(monkeypatch):
    answered = []
    monkeypatch.setattr(peer_crf, "prepare", lambda *sizes: sizes)
    monkeypatch.setattr(peer_crf, "answer", lambda *prepared: answered.extend(prepared))
    assert peer_crf.main(["loss", "2", "3", "4", "1.0"]) == 0
    assert answered == ["loss", 2, 3, 4, 1.0]
