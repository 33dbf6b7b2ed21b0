"""Tests the standard streams within one process; test_main.py tests them in processes."""

import io
import logging
import os
import sys

from tfreps._src.cli import standard_streams


class Broken(io.StringIO):
    def flush(self):
        raise BrokenPipeError(32, "Broken pipe")


def test_what_cannot_be_written_is_named(monkeypatch):
    assert standard_streams.drop_unwritable() == []
    monkeypatch.setattr(sys, "stderr", Broken())
    assert standard_streams.drop_unwritable() == ["standard error"]
    monkeypatch.setattr(sys, "stdout", Broken())
    assert standard_streams.drop_unwritable() == ["standard output", "standard error"]


def test_a_closed_stderr_is_not_written_to(monkeypatch):
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    standard_streams.say("nobody hears it")
    assert standard_streams.drop_unwritable() == []


def test_closed_streams_are_opened(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    standard_streams.prepare()
    assert sys.stdin.readable() and sys.stdout.writable() and sys.stderr.writable()
    assert sys.stdout.encoding == "utf-8"
    for name in ("stdin", "stdout", "stderr"):
        getattr(sys, name).close()


def test_what_the_library_logs_is_a_line_on_stderr(capsys):
    for _ in range(2):  # a second call adds no second handler
        standard_streams.prepare()
    logging.getLogger("tfreps.callbacks").warning("no checkpoint at step %d: %s", 4, "full")
    logging.getLogger("tfreps.callbacks").info("all is well")
    assert capsys.readouterr().err == "warning: no checkpoint at step 4: full\n"
