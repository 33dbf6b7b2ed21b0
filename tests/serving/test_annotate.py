"""Tests `tfreps annotate`. Tests that need Beam are skipped without it."""

import importlib.util
import json

import pytest

from tests.exported_models import make_trained
from tests.training.labeling import refused
from tfreps.__main__ import main
from tfreps._src.export.labeling_signatures import TextSignatures
from tfreps.export import write_export
from tfreps.serving import annotate

NEEDS_BEAM = pytest.mark.skipif(
    importlib.util.find_spec("apache_beam") is None, reason="needs Apache Beam (make test-beam)"
)


def test_arguments_after_two_dashes_are_those_of_beam(monkeypatch):
    assert annotate.split_arguments(["a", "--", "--project=x", "--"]) == (
        ["a"],
        ["--project=x", "--"],
    )
    assert annotate.split_arguments(["a"]) == (["a"], [])
    monkeypatch.setattr("sys.argv", ["annotate", "b", "--", "c"])
    assert annotate.split_arguments(None) == (["b"], ["c"])


@pytest.mark.parametrize(
    "flags, message",
    [
        (
            ["--runner", "FlinkRunner", "--workers", "2"],
            "--workers has no effect with --runner FlinkRunner; it applies to local.",
        ),
        (
            ["--signature", "tokens"],
            "--signature tokens has no effect with --input-format text; it applies to jsonl, ",
        ),
        (["--field", "body"], "--field has no effect with --input-format text"),
        (["--threads", "0"], "--threads must be at least 1; got 0."),
        (["--input-format", "csv"], "--input-format: invalid choice: 'csv'"),
        (["--output-format", "text"], "--output-format: invalid choice: 'text'"),
    ],
)
def test_flags_that_do_not_fit(capsys, flags, message):
    given = ["exports/ner", "in.txt", "--output", "out", *flags]
    try:
        code = main(["annotate", *given])
    except SystemExit as end:
        code = end.code
    assert code == 2 and message in capsys.readouterr().err


def test_without_beam(capsys, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = refused(capsys, "annotate", "exports/ner", "in.txt", "--output", "out")
    assert "needs Apache Beam" in message and "pip install '.[beam]'" in message


@pytest.mark.parametrize("name, word", [("jsonl", "head"), ("parquet", "read_parquet")])
def test_the_command_that_reads_the_output(name, word):
    assert word in annotate.reading(name, "out/annotated-0")
    assert "avro" in annotate.reading("avro", "x") and "TFRecord" in annotate.reading(
        "tfrecord", "x"
    )


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ner")
    write_export(TextSignatures(make_trained("crf")), folder)
    return str(folder)


@NEEDS_BEAM
def test_a_whole_run(exported, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"id": 7, "text": "Ada lives"}\n{"id": 8}\n')
    flags = ["--input-format", "jsonl", "--outputs", "tags", "--prefix", "my_", "--keep", "id"]
    assert main(["annotate", exported, "in.jsonl", "--output", "out", *flags]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Wrote out: 1 annotated records, 2 tokens, in 1 files.",
        "Rejected 1 records, with a reason for each in out/rejected-*.jsonl.",
        "Next, to read the first records:",
        "  head -n 3 out/annotated-00000-of-00001.jsonl",
    ]
    [line] = (tmp_path / "out" / "annotated-00000-of-00001.jsonl").read_text().splitlines()
    tags = make_trained("crf").tag(["Ada lives"])[0].tags
    assert json.loads(line) == {"id": 7, "text": "Ada lives", "my_tags": tags}


@NEEDS_BEAM
def test_errors_are_one_sentence_with_exit_code_2(exported, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = exported, "in.txt", "--output", "out"
    assert "error: in.txt matches no file." in refused(capsys, "annotate", *given)
    (tmp_path / "in.txt").write_text("")
    assert "set --allow-empty to leave out empty files" in refused(capsys, "annotate", *given)
    (tmp_path / "in.txt").write_text("Ada\n")
    assert "--runner must be one of local," in refused(capsys, "annotate", *given, "--runner", "X")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter").write_text("mine")
    assert "out already exists. Choose" in refused(capsys, "annotate", *given)
    assert (tmp_path / "out" / "letter").read_text() == "mine"
