import json

import pytest

from benchmarks import hmm
from tests.closeness import assert_close
from tfreps.models import HMMTagger

TOKENS, TAGS = [[1, 2, 1], [2, 4], [1, 1, 2, 4]], [[0, 1, 0], [1, 1], [0, 0, 1, 1]]


@pytest.mark.slow
def test_prints_every_row(monkeypatch, capsys):
    monkeypatch.setattr(hmm, "RANDOM_SENTENCES", 30)
    monkeypatch.setattr(hmm, "COUNTED", 100)
    assert hmm.main(["--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    results = [json.loads(line) for line in lines[:3]]
    assert [result["row"] for result in results] == list(hmm.ROWS)
    assert all(result["ratio"] > 0 for result in results)


def test_reads_a_file(tmp_path):
    (tmp_path / "a.conll").write_text("a X\nb Y\n\nb Y\n")
    tokens, tags, size, names = hmm.read(tmp_path / "a.conll")
    assert (tokens, tags, size, names) == ([[4, 5], [5]], [[0, 1], [1]], 5, ["X", "Y"])


def test_the_loops_agree_with_the_model():
    model = HMMTagger(4, ["X", "Y"])
    model.fit_counts(TOKENS, TAGS, floor=1e-8)
    initial, transitions, emissions = hmm.fit_loops(TOKENS, TAGS, 4, 2)
    assert_close(model.log_initial, initial)
    assert_close(model.log_transitions, transitions)
    assert_close(model.log_emissions[1:3], emissions[:, 1:3].T)
    assert_close(model.log_emissions[4], emissions[:, 4])
    sentence = [1, 2, 2, 1]
    tables = model.log_initial, model.log_transitions, model.log_emissions
    tables = [table.numpy() for table in tables]
    found = hmm.decode_loop(sentence, *tables)
    assert found == model.decode_sentences([sentence])[0].tolist()
    assert hmm.decode_loop([], *tables) == []


def test_loops_that_disagree_end_it(monkeypatch):
    monkeypatch.setattr(hmm, "decode_loop", lambda sentence, *tables: [9] * len(sentence))
    model = HMMTagger(4, ["X", "Y"])
    model.fit_counts(TOKENS, TAGS)
    with pytest.raises(SystemExit, match="of the tags must equal those of the loops"):
        hmm.measure("decode-graph", model, TOKENS, TAGS, 1)
