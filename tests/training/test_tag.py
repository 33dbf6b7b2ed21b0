"""Tests `tfreps tag` with all formats of input and output."""

import gzip
import io
import json
import re
import signal
import subprocess
import sys

import pytest

from tests import known_models, tiny_run
from tests.conftest import CHECKOUT
from tests.known_models import WORDS, softmax
from tests.training import labeling
from tests.training.labeling import ask, refused
from tfreps.__main__ import main

TEXT = "Ada saw Rome\n\nslept\n"
COLUMNS = [("Ada", "B-PER"), ("saw", "O"), ("Rome", "B-LOC"), None, None, ("slept", "O"), None]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Returns the run of a tagger with known outputs: softmax(WORDS[word]) for each word."""
    return known_models.tagger_run(tmp_path_factory.mktemp("known") / "run").path


def expected(rows=COLUMNS):
    """Returns the columns that the command writes for these rows."""
    lines = [
        "" if row is None else f"{row[0]}\t{row[1]}\t{softmax(WORDS[row[0]]).max():.4f}"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_standard_input_a_file_and_a_packed_file(run, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert ask("tag", run, stdin=TEXT.encode()) == expected()
    assert ask("tag", run, "-", stdin=TEXT.replace("\n", " \r\n").encode()) == expected()
    assert ask("tag", run, tmp_path / "a.txt") == expected()
    assert ask("tag", run, tmp_path / "a.txt.gz") == expected()
    assert ask("tag", run, stdin=b"\xef\xbb\xbf" + TEXT.encode()) == expected()
    assert ask("tag", run, stdin=b"") == ""
    assert ask("tag", run, stdin=TEXT.rstrip().encode()) == expected()


@pytest.mark.slow
def test_columns_in(run, tmp_path):
    """The files may have tags, and any number of empty lines between sentences."""
    (tmp_path / "a.conll").write_text("Ada X\nsaw Y\nRome Z\n\n\nslept X")
    rows = [row for number, row in enumerate(COLUMNS) if number != 4]
    assert ask("tag", run, tmp_path / "a.conll", "--input-format", "conll") == expected(rows)
    (tmp_path / "b.conll").write_text("\ufeffAda\r\nsaw\r\nRome\r\n\r\nslept\r\n", newline="")
    assert ask("tag", run, tmp_path / "b.conll", "--input-format", "conll") == expected(rows)


@pytest.mark.slow
def test_columns_are_read_as_those_of_the_run(tmp_path, capsys):
    run = known_models.tagger_run(tmp_path / "run", token_column=1, encoding="latin-1").path
    (tmp_path / "a.conll").write_bytes("1 Ada\n2 Zürich\n".encode("latin-1"))
    lines = ask("tag", run, tmp_path / "a.conll", "--input-format", "conll").splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Ada", "Zürich", ""]
    (tmp_path / "b.conll").write_text("Zürich\n", encoding="utf-8")
    more = "--input-format", "conll", "--token-column", 0, "--encoding", "utf-8"
    assert ask("tag", run, tmp_path / "b.conll", *more).startswith("Zürich\t")
    assert "Give a file after MODEL" in refused(capsys, "tag", run, "--input-format", "conll")
    err = refused(capsys, "tag", run, "--token-column", 1)
    assert (
        "--token-column has no effect with --input-format text; it applies to conll and conllu"
        in err
    )
    (tmp_path / "c.conllu").write_text("# a\n1\tRome\tAda" + "\t_" * 7 + "\n")
    lines = ask("tag", run, tmp_path / "c.conllu", "--input-format", "conllu")
    assert lines.startswith("Rome\t")  # the option of the run, column 1, applies only to its format
    more = "--token-column", "lemma", "--input-format", "conllu"
    assert ask("tag", run, tmp_path / "c.conllu", *more).startswith("Ada\t")
    (tmp_path / "d.json").write_text('{"text": ["Ada", "slept"]}')
    assert ask("tag", run, tmp_path / "d.json", "--input-format", "json").startswith("Ada\tB-PER")


@pytest.mark.slow
def test_json_lines_out(run):
    lines = [
        json.loads(line)
        for line in ask("tag", run, "--output-format", "json", stdin=TEXT.encode()).splitlines()
    ]
    assert [line["tokens"] for line in lines] == [["Ada", "saw", "Rome"], [], ["slept"]]
    assert lines[0]["tags"] == ["B-PER", "O", "B-LOC"] and lines[1]["tags"] == []
    assert [line["text"] for line in lines] == TEXT.splitlines()
    assert lines[0]["spans"] == [
        {"type": "PER", "start": 0, "end": 1, "start_char": 0, "end_char": 3, "text": "Ada"}
        | {"confidence": lines[0]["confidences"][0]},
        {"type": "LOC", "start": 2, "end": 3, "start_char": 8, "end_char": 12, "text": "Rome"}
        | {"confidence": lines[0]["confidences"][2]},
    ]
    shares = [round(float(softmax(WORDS[word]).max()), 4) for word in ("Ada", "saw", "Rome")]
    assert lines[0]["confidences"] == pytest.approx(shares, abs=1e-4)
    line = ask("tag", run, "--output-format", "json", stdin="Zürich 北京\n".encode())
    assert "Zürich" in line and "北京" in line


def test_a_page_of_all_texts(run, tmp_path):
    (tmp_path / "a.txt").write_text("Ada saw Rome\n\n<script>Ada\n")
    output = tmp_path / "a.html"
    how = ["--output-format", "html", "--output", output]
    assert ask("tag", run, tmp_path / "a.txt", *how) == ""
    page = output.read_text(encoding="utf-8")
    lines = page.splitlines()
    shown = [line for line in lines if line.startswith("<div")]
    assert len(shown) == 3 and (lines[0], lines[-1]) == ("<!doctype html>", "</html>")
    assert "<script" not in page and "&lt;script&gt;Ada" in shown[2] and "http" not in page
    for line, types in zip(shown, (["PER", "LOC"], [], []), strict=True):
        assert re.findall(r'title="(\w+) 0', line) == types


@pytest.mark.slow
def test_raw_text_is_cut_as_the_run_says(tmp_path):
    run = known_models.tagger_run(tmp_path / "run", tokens="words").path
    lines = ask("tag", run, stdin=b"Ada, slept\n").splitlines()
    assert [line.split("\t")[:2] for line in lines[:3]] == [
        ["Ada", "B-PER"],
        [",", "O"],
        ["slept", "O"],
    ]


def test_with_follow_the_tags_of_a_line_come_before_the_next_line_is_read(run, monkeypatch):
    written, out = [], io.StringIO()

    class Lines(io.BytesIO):
        def readline(self, *size):
            written.append(out.getvalue())
            return super().readline(*size)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Lines(TEXT.encode()), "utf-8"))
    monkeypatch.setattr(sys, "stdout", out)
    flushed = []
    monkeypatch.setattr(out, "flush", lambda: flushed.append(out.getvalue()))
    assert main(["tag", str(run), "--follow"]) == 0
    assert out.getvalue() == expected()
    lines = ["", expected(COLUMNS[:4]), expected(COLUMNS[:5]), expected()]
    assert written == lines and flushed[:3] == lines[1:]


def test_follow_needs_lines_and_writes_at_once(run, tmp_path, capsys):
    err = refused(capsys, "tag", run, "--follow", "--output", tmp_path / "out")
    assert "--follow cannot be combined with --output" in err
    err = refused(capsys, "tag", run, "a.conll", "--follow", "--input-format", "conll")
    assert "--follow has no effect with --input-format conll" in err


# Background jobs of shells ignore SIGINT.
INTERRUPTIBLE = """
import signal, sys
from tfreps.__main__ import main

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""


def followed(run):
    """Returns a process that has tagged its first line and waits for the second."""
    line = [sys.executable, "-c", INTERRUPTIBLE, "tag", str(run), "--follow"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(line, cwd=CHECKOUT, text=True, **pipes)
    process.stdin.write("Ada saw\n")
    process.stdin.flush()
    answer = [process.stdout.readline() for _ in range(3)]
    assert "".join(answer) == expected([*COLUMNS[:2], None])  # while the pipe is open
    return process


@pytest.mark.slow
def test_follow_through_a_pipe_until_it_is_interrupted(run):
    process = followed(run)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "interrupted" in err and "Traceback" not in err


@pytest.mark.slow
def test_follow_ends_when_nothing_reads_its_output(run):
    process = followed(run)
    process.stdout.close()
    process.stdin.write("Rome\nRome\n")
    process.stdin.close()
    assert process.wait(timeout=60) == 1
    err = process.stderr.read()
    process.stderr.close()
    assert "Traceback" not in err and "Exception" not in err


def test_bad_places_and_texts(run, tmp_path, capsys):
    assert "Cannot read absent.txt" in refused(capsys, "tag", run, "absent.txt")
    assert "no folder" in refused(capsys, "tag", run, "--output", tmp_path / "no" / "out")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"Ada\n" * 99)[:-9])
    assert "damaged or not a gzip file" in refused(capsys, "tag", run, tmp_path / "a.txt.gz")
    (tmp_path / "a.conll").write_text("Ada X\nsaw\n")
    err = refused(capsys, "tag", run, tmp_path / "a.conll", "--input-format", "conll")
    assert "a.conll, line 2: expected 2 columns" in err


def test_a_line_that_is_too_long(run, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("Ada\n" + "x" * 10_000_000)
    output = tmp_path / "out"
    err = refused(capsys, "tag", run, tmp_path / "a.txt", "--output", output)
    assert "a.txt, line 2: the line has more than 50,000 bytes" in err and not output.exists()
    (tmp_path / "a.txt").write_text("Ada in\n")
    assert "line 1" in refused(capsys, "tag", run, tmp_path / "a.txt", "--max-line-bytes", 5)


def test_runs_of_another_kind(tmp_path, capsys):
    run = known_models.classifier_run(tmp_path / "labels").path
    assert "contains a classifier (Classifier); expected a tagger" in refused(capsys, "tag", run)
    path, _ = tiny_run.make_run(tmp_path / "bilm")
    assert "contains a biLM (BiLMPretrainer); expected a tagger" in refused(capsys, "tag", path)
    assert "absent does not exist" in refused(capsys, "tag", tmp_path / "absent")


@pytest.mark.parametrize(
    "flags", [["--formt", "json"], ["--output-format", "xml"], ["a", "b"], ["--k=5"]]
)
def test_flags_that_it_does_not_have(run, flags, capsys):
    with pytest.raises(SystemExit) as raised:
        main(["tag", str(run), *flags])
    assert raised.value.code == 2 and "error: " in capsys.readouterr().err


@pytest.mark.slow
def test_a_trained_tagger(word_tagger):
    """The tags of a new sentence follow the rule of the data."""
    rows = labeling.read_columns(
        ask("tag", word_tagger, stdin=b"then mr Ada Bob went in Cid now\n")
    )
    tags = [columns[0] for columns in rows[0][1]]
    assert (
        tags
        == labeling.tag(rows[0][0])
        == [
            *("O", "O", "B-PER", "I-PER", "O", "O", "B-LOC", "O"),
        ]
    )
    assert all(0 < float(columns[1]) <= 1 for columns in rows[0][1])
