import pytest

from benchmarks import taggers


@pytest.fixture
def small(monkeypatch):
    for name, (what, *_, how, goal) in list(taggers.ROWS.items()):
        monkeypatch.setitem(taggers.ROWS, name, (what, 2, 3, 4, how, goal))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(taggers.ROWS))
def test_measures_a_row(small, name):
    result = taggers.measure(name, repeats=2)
    assert result["row"] == name and result["tokens_per_second"] > 0
    assert result["to_reach"] == taggers.ROWS[name][-1] and "ratio" not in result


@pytest.mark.slow
def test_a_ratio_is_of_medians(small, monkeypatch, capsys):
    commands = []

    def in_turns(call, repeats, command):
        commands.append(command)
        return [0.25, 0.25, 9.0], [1.0, 1.0, 0.1]

    monkeypatch.setattr(taggers, "in_turns", in_turns)
    result = taggers.measure("viterbi-graph-32x50x9", 8, "PYTHON")
    assert result["ratio"] == 4.0 and result["peer_tokens_per_second"] == 6.0
    assert commands == [["PYTHON", "-m", "benchmarks.peer_crf", "viterbi", "2", "3", "4", "1.0"]]
    taggers.print_table([result])
    assert "| 24 | 6 | 4.0 | 2.0 |" in capsys.readouterr().out


def test_the_rows_of_the_issue_are_there():
    sizes = {name: row[1:4] for name, row in taggers.ROWS.items() if row[0] in ("loss", "viterbi")}
    assert sizes.pop("viterbi-1x4x2") == (1, 4, 2)
    assert len(sizes) == 6 and set(sizes.values()) == {(32, 50, 9), (32, 100, 29)}
