"""Tests the standard streams within one process; test_main.py tests them in processes."""

import io
import logging
import sys

from tfreps._src.cli import standard_streams


def test_what_the_library_logs_is_a_line_on_stderr(capsys):
    for _ in range(2):  # a second call adds no second handler
        standard_streams.prepare()
    logging.getLogger("tfreps.callbacks").warning("no checkpoint at step %d: %s", 4, "full")
    logging.getLogger("tfreps.callbacks").info("all is well")
    assert capsys.readouterr().err == "warning: no checkpoint at step 4: full\n"


def test_a_closed_stderr_is_not_written_to(monkeypatch):
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    standard_streams.say("nobody hears it")
    assert standard_streams.drop_unwritable() == []
