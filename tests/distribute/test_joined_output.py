"""Tests that lines of several processes are joined whole, and that no process waits."""

import io
import os
import threading

from tfreps.distribute.joined_output import LONGEST_LINE, JoinedOutput


class Terminal(io.BytesIO):
    def isatty(self):
        return True


class Lost(io.BytesIO):
    """File whose reader has ended."""

    calls = 0

    def write(self, data):
        self.calls += 1
        raise BrokenPipeError


def joined(*texts, target=None):
    output = JoinedOutput(io.BytesIO() if target is None else target)
    for number, text in enumerate(texts, 1):
        output.follow(io.BytesIO(text), f"<{number}> ")
    output.wait(10)
    return output.target.getvalue()


def test_every_line_has_its_prefix():
    assert joined(b"a\n\n  b \xff\r\nend") == b"<1> a\n<1> \n<1>   b \xff\r\n<1> end\n"
    assert joined(b"") == b""


def test_lines_stay_whole_and_in_order():
    texts = [b"".join(b"%d " % n * 50 + b"\n" for n in range(300)) for _ in range(4)]
    lines = joined(*texts).splitlines()
    assert len(lines) == 1200
    for number, text in enumerate(texts, 1):
        own = [line[4:] for line in lines if line.startswith(b"<%d> " % number)]
        assert own == text.splitlines()


def test_a_long_line_is_split():
    lines = joined(b"x" * (LONGEST_LINE + 10) + b"\ny").splitlines()
    assert lines == [b"<1> " + b"x" * LONGEST_LINE, b"<1> " + b"x" * 10, b"<1> y"]


def test_a_line_replaces_progress_on_a_terminal():
    assert joined(b"a\nb\n", target=Terminal()) == b"\r\x1b[K<1> a\n\r\x1b[K<1> b\n"


def test_sources_are_read_to_their_end_when_the_output_is_lost():
    ends, target = os.pipe(), Lost()
    output = JoinedOutput(target)
    output.follow(os.fdopen(ends[0], "rb"), "")
    with os.fdopen(ends[1], "wb") as source:
        source.write(b"line\n" * 100_000)  # more than the pipe holds
    output.wait(10)
    assert target.calls == 1


def test_a_line_appears_before_the_source_ends():
    written = threading.Event()

    class Watched(io.BytesIO):
        def flush(self):
            written.set()

    ends = os.pipe()
    output = JoinedOutput(Watched())
    output.follow(os.fdopen(ends[0], "rb"), "> ")
    os.write(ends[1], b"now\nlater")
    assert written.wait(10) and output.target.getvalue() == b"> now\n"
    output.wait(0.01)  # returns although the source is open
    os.close(ends[1])
    output.wait(10)
    assert output.target.getvalue() == b"> now\n> later\n"
