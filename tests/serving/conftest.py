"""Fixture of the tests of several commands: an export of a biLM."""

import contextlib
import io

import pytest

from tests.made_once import made_once
from tests.tiny_run import make_run
from tfreps.__main__ import main


@pytest.fixture(scope="session")
def exported_elmo(tmp_path_factory):
    """Returns a folder with a `run`, its export `deep/export`, and its output in `printed.txt`."""
    return made_once(tmp_path_factory, "exported_elmo", export)


def export(folder):
    folder.mkdir()
    path, _ = make_run(folder / "run")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert (
            main(
                [
                    "export",
                    path,
                    "--elmo-initial-state",
                    "warm",
                    "--output",
                    str(folder / "deep/export"),
                ]
            )
            == 0
        )
    (folder / "printed.txt").write_text(printed.getvalue(), encoding="utf-8")
