"""Tests which lines of TensorFlow's log are shown at each level; test_main.py captures them."""

import tempfile

import pytest

from tfreps.cli import quiet_import
from tfreps.cli.quiet_import import is_wanted

PLACE = b" 00:00:1.5 8849 gpu.cc:1] said\n"
LEVELS = {None: b"WEF", "3": b"F", "9": b"", "2": b"EF", "1": b"WEF", "0": b"IWEF", "x": b"IWEF"}


@pytest.mark.parametrize("given", LEVELS)
def test_severities(given):
    for letter in (b"I", b"W", b"E", b"F"):
        assert is_wanted(letter + b"0000" + PLACE, given) == (letter in LEVELS[given])
        line = b"2026-11-21 01:02:03.4: " + letter + b" gpu.cc:1] said\n"
        assert is_wanted(line, given) == (letter in LEVELS[given])


@pytest.mark.parametrize("given, is_shown", [(None, False), ("3", False), ("2", True)])
def test_a_missing_gpu(given, is_shown):
    line = b"E0000 00:00:1.5 8849 cuda_platform.cc:52] cuInit: UNKNOWN ERROR (303)\n"
    assert is_wanted(line, given) == is_shown


def test_other_lines_are_shown():
    for line in (b"Traceback (most recent call last):\n", b"Information for you\n", b"\n"):
        assert all(is_wanted(line, given) for given in LEVELS)


def test_without_a_folder_for_temporary_files(monkeypatch):
    def fail():
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)
    with quiet_import.temporary_file() as file:
        file.write(b"held")
        file.seek(0)
        assert file.read() == b"held"
