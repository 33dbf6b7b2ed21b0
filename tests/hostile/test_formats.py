"""Hostile input of every format: a few cases of the quick ones, and all in `make test-slow`."""

import pytest

from tests.hostile.campaign import run_few, run_many
from tests.hostile.formats import FORMATS
from tests.hostile.program_folders import PROGRAMS, run_program


@pytest.mark.parametrize("name", [name for name, kind in FORMATS.items() if kind.quick])
def test_few(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_few(FORMATS[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_many(name, tmp_path):
    run_many(FORMATS[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_accept_whole_files(name, tmp_path):
    """Otherwise the cases would be meaningless."""
    _, write, *arguments = PROGRAMS[name]
    write(tmp_path / "case")
    assert run_program(tmp_path / "case", *arguments)
