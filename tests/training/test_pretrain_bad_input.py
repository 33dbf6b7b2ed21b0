"""Tests bad input of `tfreps pretrain-elmo`: one line, exit code 2, and no files."""

import os

import pytest

from tests import tiny_run
from tests.training.pretraining import flags
from tfreps.__main__ import main

LEAST = ["--units", "8", "--projection-dim", "4", "--word-input", "--no-bidirectional"]


def refused(capsys, line):
    assert main(line) == 2
    err = capsys.readouterr().err
    assert err.startswith("tfreps pretrain-elmo: error: ") and err.count("\n") == 1
    return err


TEXTS = {
    "missing": (None, "matches no file"),
    "empty": (b"", "no text"),
    "blank": (b"\n \r\n\n", "no text"),
    "binary": (b"the dog\n\x00\x01\x02\xff\n", "text.txt, line 2"),
    "Latin-1": ("the dog\nthe naïve dog\n".encode("latin-1"), "text.txt, line 2"),
    "UTF-16": ("the dog\n".encode("utf-16"), "text.txt, line 1"),
    "another language": ("犬 は 川 へ\n".encode(), "None of the 4 tokens"),
    "not gzip": (b"the dog\n", "gzip"),
}


@pytest.mark.parametrize("which", ["--train", "--validation"])
@pytest.mark.parametrize("case", TEXTS)
def test_text(corpus, tmp_path, capsys, which, case):
    data, message = TEXTS[case]
    path = tmp_path / ("text.txt.gz" if case == "not gzip" else "text.txt")
    if data is not None:
        path.write_bytes(data)
    line = flags(corpus, tmp_path / "run", *LEAST, sizes=[])
    line[line.index(which) + 1] = str(path)
    assert message in refused(capsys, line)
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_text(corpus, tmp_path, capsys):
    (tmp_path / "text.txt").write_text("the dog\n")
    (tmp_path / "text.txt").chmod(0)
    line = flags(corpus, tmp_path / "run", *LEAST, sizes=[])
    line[line.index("--train") + 1] = str(tmp_path / "text.txt")
    assert "Cannot read" in refused(capsys, line)


def test_a_folder_for_text(corpus, tmp_path, capsys):
    line = flags(corpus, tmp_path / "run", *LEAST, sizes=[])
    line[line.index("--train") + 1] = str(tmp_path)
    assert "is a folder" in refused(capsys, line)


VOCABULARIES = {
    "missing": (None, "Cannot read the vocabulary"),
    "without specials": ("the\ndog\n", "found no <S> or </S> or <UNK>"),
    "twice": ("<S>\n</S>\n<UNK>\nthe\nthe\n", "line 5: 'the' is already on line 4"),
    "unsorted": ("<S>\n</S>\n<UNK>\nboats\nthe\n", "not sorted by descending count"),
    "too small": ("<S>\n</S>\n<UNK>\nthe\n", "got 16 for a vocabulary of 4"),
    "Latin-1": ("<S>\n</S>\n<UNK>\nna\xefve\n", "line 4"),
}


@pytest.mark.parametrize("case", VOCABULARIES)
def test_vocabulary(corpus, tmp_path, capsys, case):
    text, message = VOCABULARIES[case]
    if text is not None:
        (tmp_path / "vocabulary.txt").write_bytes(text.encode("latin-1"))
    more = ["--num-sampled", 2 if case == "unsorted" else 16]
    line = flags(corpus, tmp_path / "run", *LEAST, *more, sizes=[])
    line[line.index("--vocabulary") + 1] = str(tmp_path / "vocabulary.txt")
    assert message in refused(capsys, line)
    assert not (tmp_path / "run").exists()


def test_no_vocabulary(corpus, tmp_path, capsys):
    line = flags(corpus, tmp_path / "run", *LEAST, sizes=[], vocabulary=False)
    assert "--vocabulary is missing" in refused(capsys, line)


OPTIONS = [
    (["--projection-dim", "9", "--units", "8"], "--projection-dim must not be larger than --units"),
    (["--projection-dim", "17"], "at most the number of filters, 16; got 17"),
    (["--filters", "[[1,8"], "--filters must be a list of [width, count] pairs"),
    (["--filters", "[[0,8]]"], "pairs of positive numbers"),
    (["--filters", "[[60,8]]"], "no width above --max-characters"),
    (["--filters", "[]"], "pairs of positive numbers"),
    (["--activation", "nothing"], "nothing"),
    (["--max-characters", "2"], "must be"),
    (["--tie-embeddings"], "--tie-embeddings shares the word embedding"),
    (["--num-sampled", "119"], "got 119 for a vocabulary of 119"),
    (["--epochs", "nan"], "--epochs must be a finite number, above 0 and at most"),
    (["--config", "no/such.json"], "Cannot read no/such.json"),
]


@pytest.mark.parametrize("more, message", OPTIONS, ids=[" ".join(more) for more, _ in OPTIONS])
def test_options(corpus, tmp_path, capsys, more, message):
    assert message in refused(capsys, flags(corpus, tmp_path / "run") + more)
    assert not (tmp_path / "run").exists()


def test_an_earlier_run_is_left_alone(corpus, tmp_path, capsys):
    trained = tmp_path / "run"
    tiny_run.make_run(trained)
    before = {path: path.stat().st_mtime_ns for path in trained.rglob("*")}
    assert "already contains a run" in refused(capsys, flags(corpus, trained))
    line = flags(corpus, trained, "--overwrite")  # errors are found before it is removed
    line[line.index("--train") + 1] = str(tmp_path / "missing.txt")
    assert "matches no file" in refused(capsys, line)
    assert {path: path.stat().st_mtime_ns for path in trained.rglob("*")} == before


def test_a_run_where_a_file_is(corpus, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert "is a file" in refused(capsys, flags(corpus, tmp_path / "file"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("mine")
    assert "thesis.tex" in refused(capsys, flags(corpus, tmp_path / "other", "--overwrite"))
