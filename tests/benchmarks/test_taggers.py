import pytest

from benchmarks import taggers


@pytest.fixture
def small(monkeypatch):
    for name, (what, *_, how, goal) in list(taggers.ROWS.items()):
        monkeypatch.setitem(taggers.ROWS, name, (what, 2, 3, 4, how, goal))
    monkeypatch.setattr(taggers, "GRID", ((1,), (4,), (2, 3)))
    monkeypatch.setattr(taggers, "STREAM", 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(taggers.ROWS))
def test_measures_a_row(small, name):
    result = taggers.measure(name, repeats=2)
    assert result["row"] == name
    if name.startswith("stream"):
        assert result["seconds"] > 0 and result["calls_over_0.1_s"] <= result["num_shapes"]
        taggers.print_table([result])
        return
    assert result["tokens_per_second"] > 0
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


@pytest.mark.slow
def test_a_grid_has_a_ratio_for_each_size(small, monkeypatch, capsys):
    ours = iter([[0.5], [0.25]])
    monkeypatch.setattr(taggers, "in_turns", lambda *_: (next(ours), [1.0]))
    result = taggers.measure("viterbi-grid-1", 8, "PYTHON")
    assert result["ratios"] == {"1x4x2": 2.0, "1x4x3": 4.0}
    taggers.print_table([result])
    assert capsys.readouterr().out == "viterbi-grid-1: smallest ratio 2.00, for 1x4x2\n"


def test_the_rows_of_the_issue_are_there():
    sizes = {name: row[1:4] for name, row in taggers.ROWS.items() if row[0] in ("loss", "viterbi")}
    assert sizes.pop("viterbi-1x4x2") == (1, 4, 2)
    assert len(sizes) == 8 and set(sizes.values()) == {(32, 50, 9), (32, 100, 29)}
