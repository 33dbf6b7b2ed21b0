"""Tests `tfreps tokenize`."""

import re

import pytest

from tfreps.__main__ import main
from tfreps.training import tokenize_text

RAW = "It's GOOD; isn't it?\n\n  Ünïted 3.5 stars…\n"


def run(tmp_path, *flags, text=RAW, name="a.txt"):
    source, output = tmp_path / name, tmp_path / "out.txt"
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    code = main(["tokenize", str(source), "--output", str(output), *flags])
    return code, output.read_text(encoding="utf-8") if output.exists() else None


def test_words_as_python_would_cut_them(tmp_path, capsys):
    code, text = run(tmp_path, "--lowercase")
    expected = [" ".join(re.findall(r"\w+|[^\w\s]", line.lower())) for line in RAW.split("\n")]
    assert code == 0 and text.splitlines() == [line for line in expected if line]
    assert "out.txt: 2 texts, 16 tokens." in capsys.readouterr().out


def test_chinese_is_cut_into_characters(tmp_path, capsys):
    assert run(tmp_path, text="房间很大，但是没有热水。\n") == (
        0,
        "房 间 很 大 ， 但 是 没 有 热 水 。\n",
    )
    assert (
        "Tokens: characters, because the texts are in a script without" in capsys.readouterr().out
    )
    flags = ["--overwrite", "--tokens", "words"]
    assert run(tmp_path, *flags, text="房间很大，好\n") == (0, "房间很大 ， 好\n")


def test_the_other_ways_of_cutting(tmp_path):
    assert run(tmp_path, "--tokens", "spaces")[1].splitlines()[1] == "Ünïted 3.5 stars…"
    flags = ["--overwrite", "--tokens", "characters", "--max-length", "3"]
    assert run(tmp_path, *flags)[1] == "I t '\nÜ n ï\n"


def test_texts_of_labeled_files_keep_their_places(tmp_path):
    """Line n is text n, including empty texts, so that stored vectors are found by number."""
    text = b"1\tgood book\n0\t \n1\tna\xefve\n"
    code, text = run(tmp_path, "--format", "tab", "--encoding", "latin-1", text=text)
    assert code == 0 and text == "good book\n\nnaïve\n"


def test_columns_and_quotes(tmp_path):
    columns = ["--text-field", "0", "--label-field", "1", "--tokens", "spaces"]
    assert run(tmp_path, "--format", "tab", *columns, text="the\t1\ncat\t0\n") == (0, "the\ncat\n")
    flags = ["--format", "tsv", "--overwrite", "--tokens", "spaces"]
    text = 'label\ttext\n1\t"Fine film\n0\tdull, they say "\n'
    assert run(tmp_path, *flags, text=text) == (0, '"Fine film\ndull, they say "\n')
    flags += ["--quotes", "enclose"]
    assert run(tmp_path, *flags, text=text) == (0, "Fine film 0 dull, they say\n")


def test_sentences(tmp_path, capsys):
    text = "Dr. Smith paid $3.50. He left!  Why?\n\nThe end...\n"
    flags = ["--tokens", "spaces", "--split-sentences", "en"]
    code, lines = run(tmp_path, *flags, text=text)
    expected = ["Dr. Smith paid $3.50.", "He left!", "Why?", "The end..."]
    assert code == 0 and lines.splitlines() == expected
    assert "out.txt: 4 sentences, 9 tokens." in capsys.readouterr().out
    flags += ["--overwrite", "--max-length", "1"]
    assert run(tmp_path, *flags, text="你好。我来了！\n")[1] == "你好。\n我来了！\n"


def test_sentences_without_the_package(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tokenize_text.importlib.util, "find_spec", lambda name: None)
    assert run(tmp_path, "--split-sentences", "en") == (2, None)
    assert "sentencex. Run: pip install sentencex." in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags, text, message",
    [
        (["--max-length", "0"], RAW, "--max-length must be at least 1; got 0"),
        ([], b"na\xefve\n", "a.txt, line 1"),
        (["--format", "tab"], "no tab\n", "a.txt, line 1: expected 2 columns, label<TAB>text"),
        (
            ["--format", "tab", "--text-field", "5"],
            "1\ta\n",
            "Check --text-field, --label-field and",
        ),
    ],
)
def test_bad_input(tmp_path, capsys, flags, text, message):
    code, output = run(tmp_path, *flags, text=text)
    assert (code, output) == (2, None) and message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_an_earlier_file_is_left_alone(tmp_path, capsys):
    (tmp_path / "out.txt").write_text("mine")
    assert run(tmp_path) == (2, "mine") and "already exists" in capsys.readouterr().err
