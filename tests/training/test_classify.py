"""Tests `tfreps classify` with all formats of input and output."""

import gzip
import importlib
import itertools
import json
import types

import pytest

from tests import known_models
from tests.known_models import softmax
from tests.training.labeling import ask, refused
from tfreps.__main__ import main

TEXT = "Ada, saw\n\nRome!\n"
# The scores of a text are means over its tokens. Commas, exclamation marks and empty texts have
# the score 0.
SCORES = [[3 / 3, 0], [0, 0], [0, 2 / 2]]
LABELS = ["bad", "bad", "good"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Returns the run of a classifier with known outputs: softmax(mean(TEXTS[word]))."""
    return known_models.classifier_run(tmp_path_factory.mktemp("known") / "run").path


def expected():
    shares = [softmax(scores).max() for scores in SCORES]
    rows = zip(LABELS, shares, TEXT.splitlines(), strict=True)
    return "".join(f"{label}\t{share:.4f}\t{text}\n" for label, share, text in rows)


def test_standard_input_a_file_and_a_packed_file(run, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert ask("classify", run, stdin=TEXT.encode()) == expected()
    assert ask("classify", run, tmp_path / "a.txt") == expected()
    assert ask("classify", run, tmp_path / "a.txt.gz") == expected()
    assert ask("classify", run, stdin=b"") == ""


@pytest.mark.parametrize("command, unit", [("classify", "texts"), ("tag", "sentences")])
def test_the_time_left(run, tmp_path, capsys, monkeypatch, command, unit):
    """Without a terminal, a line goes to standard error each minute; the results are the same."""
    if command == "tag":
        run = known_models.tagger_run(tmp_path / "tagger").path
    path, now = tmp_path / "a.txt", itertools.count(0, 120.0)
    path.write_text("Ada\n" * 2500)
    module = importlib.import_module(f"tfreps.training.{command}")
    at_once = {"classify": "TEXTS_AT_ONCE", "tag": "SENTENCES_AT_ONCE"}[command]
    monkeypatch.setattr(module, at_once, 1000)
    clock = types.SimpleNamespace(monotonic=lambda: next(now))  # threads read the real clock
    monkeypatch.setattr("tfreps._src.files.progress.time", clock)
    assert main([command, str(run), str(path)]) == 0
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if " left" in line]
    assert lines == [
        f"1,000 {unit}, 1,000 tokens, 8 tokens/s, 3:00 left",
        f"2,000 {unit}, 2,000 tokens, 8 tokens/s, 1:00 left",
        f"2,500 {unit}, 2,500 tokens, 7 tokens/s, 0:00 left",
    ]
    assert len([line for line in out.splitlines() if line]) == 2500 and "left" not in out


def test_json_lines_out(run):
    out = ask("classify", run, "--output-format", "json", stdin=TEXT.encode())
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["text"] for line in lines] == TEXT.splitlines()
    assert [line["label"] for line in lines] == LABELS
    for line, scores in zip(lines, SCORES, strict=True):
        assert line["confidence"] == line["probabilities"][line["label"]]
        assert list(line["probabilities"].values()) == pytest.approx(softmax(scores), abs=1e-4)


def test_a_threshold(run, capsys):
    """The probabilities of "good" are 0.27, 0.5 and 0.73 (see above)."""

    def labels(threshold):
        lines = ask("classify", run, "--threshold", threshold, stdin=TEXT.encode()).splitlines()
        return [line.split("\t")[0] for line in lines]

    assert labels("0.2") == ["good"] * 3 and labels("1") == ["bad"] * 3
    assert labels("0.5") == ["bad", "good", "good"]
    for wrong in ("2", "-1", "nan", "best"):
        error = refused(capsys, "classify", run, "--threshold", wrong)
        assert f"--threshold must be validation or a number from 0 to 1; got {wrong}" in error
    error = refused(capsys, "classify", run, "--threshold", "validation")
    assert "--threshold validation needs the threshold" in error
    results = run / "results.json"
    results.write_text('{"validation": {"threshold": 0.6}}')
    try:
        assert labels("validation") == ["bad", "bad", "good"]
    finally:
        results.unlink()


@pytest.mark.slow
def test_many_texts_come_in_order(run):
    words = ["Rome " * (n % 7 + 1) if n % 3 else "Ada" for n in range(2500)]
    lines = ask("classify", run, stdin="\n".join(words).encode()).splitlines()
    assert [line.split("\t")[0] for line in lines] == [
        "good" if n % 3 else "bad" for n in range(2500)
    ]


def test_output_whole_or_not_at_all(run, tmp_path, capsys):
    (tmp_path / "a.txt").write_text(TEXT)
    output = tmp_path / "out.tsv"
    assert main(["classify", str(run), str(tmp_path / "a.txt"), "--output", str(output)]) == 0
    assert output.read_text() == expected() and capsys.readouterr().out == ""
    (tmp_path / "bad.txt").write_bytes(b"Ada saw\n" * 2000 + b"\0\n")
    err = refused(capsys, "classify", run, tmp_path / "bad.txt", "--output", output, "--overwrite")
    assert "bad.txt, line 2001: expected UTF-8 text, found a NUL byte" in err
    assert output.read_text() == expected() and len(list(tmp_path.iterdir())) == 3


def test_runs_of_another_kind(tmp_path, capsys):
    run = known_models.tagger_run(tmp_path / "tags").path
    assert "contains a tagger (Tagger); expected a classifier" in refused(capsys, "classify", run)
    assert "absent does not exist" in refused(capsys, "classify", tmp_path / "absent")
