import sys

import pytest

from benchmarks import in_turns

# A peer that answers immediately and reports one second.
STUB = """
import json, sys
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    print(json.dumps([1.0] * int(line)), flush=True)
"""


def test_ours_and_theirs_in_turns(monkeypatch):
    monkeypatch.setattr(in_turns, "seconds", lambda call: 0.25)
    ours, theirs = in_turns.in_turns(lambda: None, 16, [sys.executable, "-c", STUB])
    assert ours == [0.25] * 16 and theirs == [1.0] * 16


def test_alone():
    calls = []
    ours, theirs = in_turns.in_turns(lambda: calls.append(1), 1)
    assert len(ours) == 1 and len(calls) == 6 and theirs == []


def test_a_peer_that_ends_is_an_error():
    with pytest.raises(OSError, match="without an answer"):
        with in_turns.peer_process([sys.executable, "-c", "raise SystemExit(1)"]):
            pass
