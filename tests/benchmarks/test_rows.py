import json
import subprocess
import sys
import types

import pytest

from benchmarks import rows

ROWS = {"fast-one": 1, "slow-one": 2}


@pytest.fixture
def module():
    def measure(row, repeats, peer_python=None):
        return {"row": row, "repeats": repeats, "peer": peer_python}

    def print_table(results):
        print([result["row"] for result in results])

    spec = types.SimpleNamespace(name="benchmarks.some")
    return types.SimpleNamespace(
        __spec__=spec, __doc__="What.", measure=measure, print_table=print_table
    )


def run(module, argv):
    return rows.run_rows(module, ROWS, argv, repeats=7, peers={"peer_python": "a peer"})


def test_one_row_in_this_process(module, capsys):
    assert run(module, ["--row", "slow-one"]) == 0
    assert json.loads(capsys.readouterr().out) == {"row": "slow-one", "repeats": 7, "peer": None}


def test_each_row_in_a_process_of_its_own(module, monkeypatch, capsys):
    commands = []

    def called(command, **_):
        commands.append(command)
        return types.SimpleNamespace(returncode=0, stdout=f'noise\n{{"row": "{command[4]}"}}\n')

    monkeypatch.setattr(subprocess, "run", called)
    assert run(module, ["--only", "fast", "--repeats", "3", "--peer-python", "P"]) == 0
    expected = ["-m", "benchmarks.some", "--row", "fast-one", "--repeats", "3"]
    assert commands == [[sys.executable, *expected, "--peer-python", "P"]]
    assert capsys.readouterr().out.splitlines()[-1] == "['fast-one']"


def test_a_row_that_fails_is_named(module, monkeypatch):
    failed = types.SimpleNamespace(returncode=1, stdout="", stderr="no memory")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: failed)
    with pytest.raises(SystemExit, match="fast-one failed:\nno memory"):
        run(module, [])
