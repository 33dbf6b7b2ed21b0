"""Tests the record of the functions that a call enters."""

import json
import subprocess
import sys

import pytest

from benchmarks import walks
from tests.conftest import CHECKOUT
from tfreps.text import batch_to_ids


def test_a_record_of_functions():
    with walks.recorded() as found:
        batch_to_ids([["Ada", "saw"], ["Rome"]])
    entries = walks.entries(found)
    assert entries[0] == ("tfreps/_src/text/char_ids.py", "batch_to_ids")
    assert len(set(entries)) == len(entries) > 1
    with walks.recorded(until="batch_to_ids") as found:
        batch_to_ids([["Ada"]])
    assert walks.entries(found) == entries[:1]


@pytest.mark.slow
def test_the_walks(tmp_path):
    """Each begins and ends in the files that `docs/explanation/architecture.md` names.

    A new process measures them, because threads of earlier servers cannot be recorded.
    """
    program = (
        "import json, pathlib, sys; from benchmarks import walks; "
        "print(json.dumps(walks.measure(pathlib.Path(sys.argv[1]))))"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    first = {name: entries[0] for name, entries in found.items()}
    assert first["load a tagger"] == ["tfreps/_src/loading.py", "load"]
    assert first["call a tagger"][1] == "__call__"
    assert "serving/server/rest/rest_app.py" in dict(found["a REST request"])
    assert all(10 < len(entries) < 1000 for entries in found.values())
