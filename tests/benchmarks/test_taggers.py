import sys

import pytest

from benchmarks import taggers

# A peer without torch: answers at once, and always takes a second.
STUB = """
import json, sys
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    print(json.dumps([1.0] * int(line)), flush=True)
"""


@pytest.fixture
def small(monkeypatch):
    for name, (what, *_, how, goal) in list(taggers.ROWS.items()):
        monkeypatch.setitem(taggers.ROWS, name, (what, 2, 3, 4, how, goal))


@pytest.mark.parametrize("name", taggers.ROWS)
def test_measures_a_row(small, name):
    result = taggers.measure(name, repeats=2)
    assert result["row"] == name and result["tokens_per_second"] > 0
    assert result["to_reach"] == taggers.ROWS[name][-1] and "ratio" not in result


def test_a_ratio_is_of_medians(small, monkeypatch, tmp_path):
    monkeypatch.setattr(taggers, "PEER", tmp_path / "peer.py")
    taggers.PEER.write_text(STUB)
    monkeypatch.setattr(taggers, "seconds", lambda call: 0.25)
    result = taggers.measure("viterbi-graph-32x50x9", 8, sys.executable)
    assert result["ratio"] == 4.0 and result["peer_tokens_per_second"] == 6.0
    taggers.print_table([result])


def test_a_peer_that_ends_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(taggers, "PEER", tmp_path / "peer.py")
    taggers.PEER.write_text("raise SystemExit(1)")
    with pytest.raises(OSError, match="without an answer"):
        with taggers.peer_process(sys.executable, ["loss"]):
            pass


def test_the_rows_of_the_issue_are_there():
    sizes = {name: row[1:4] for name, row in taggers.ROWS.items() if row[0] in ("loss", "viterbi")}
    assert len(sizes) == 6 and set(sizes.values()) == {(32, 50, 9), (32, 100, 29)}
