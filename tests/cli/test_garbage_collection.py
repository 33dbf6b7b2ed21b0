"""Tests that imports of a program run without the garbage collector, and only in a new process."""

import gc
import subprocess
import sys

import pytest

from tfreps.cli.garbage_collection import without_collection


def test_no_effect_after_the_import_of_tensorflow():
    frozen = gc.get_freeze_count()
    with without_collection():
        assert gc.isenabled()
    # A frozen object may be freed meanwhile; a freeze would add many.
    assert gc.isenabled() and gc.get_freeze_count() <= frozen


@pytest.mark.parametrize("error", ["", "raise ValueError"])
def test_in_a_new_process(error):
    code = f"""
import atexit, gc, sys
from tfreps.cli.garbage_collection import without_collection
atexit.register(lambda: print(len(gc.get_objects()) == 0))  # runs after the freeze
class Cycle:
    def __init__(self):
        self.cycle = self
    def __del__(self):
        print("freed")
try:
    with without_collection():
        assert not gc.isenabled()
        {error or "pass"}
except ValueError:
    pass
assert gc.isenabled() and gc.get_freeze_count() > 1000
Cycle()
gc.collect()  # later garbage is found
"""
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["freed", "True"]
