"""Tests the tagged demo corpus: code that is marked in docstrings."""

import pytest

from tfreps.__main__ import main
from tfreps.training import demo_tags


def tagged(text):
    """Returns tagged sentences of a text: `word` for O, `[word` for B-CODE, `~word` for I-CODE."""
    signs = {"O": "", "B-CODE": "[", "I-CODE": "~"}
    return [
        " ".join(signs[tag] + token for token, tag in sentence)
        for sentence in demo_tags.tagged_sentences(text)
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Pass `x` to ``np.dot`` first.", ["Pass [x to [np ~. ~dot first ."]),
        ("See :class:`Path` and `a` `b` there.", ["See [Path and [a [b there ."]),
        ("Call\n`f` now, yes. It then ends `x`.", ["Call [f now , yes .", "It then ends [x ."]),
        ("Nothing is marked as code here.", []),
        ("A mark that `never ends in this one.", []),
        ("`a` `b` `c.d` more code than prose", []),
        ("Ends `in. The` next sentence there is code `x` marked.", []),
        ("Too `x` short", []),
        ("A \0 byte in front of `x` .", []),
        ("What is **bold** near `x` is left out.", []),
        (">>> run(`x`) is a line of code\n\nThis `x` is no code.", ["This [x is no code ."]),
    ],
)  # fmt: skip
def test_marks_become_tags_and_leave_the_text(text, expected):
    assert tagged(text) == expected


def test_files_parts_and_repetition(tmp_path, monkeypatch, capsys):
    """A file belongs to one part, a sentence occurs once, and sentences end with empty lines."""
    names = [f"file{n}.py" for n in range(60)]
    texts = [f"Give it `x{n}` and wait.\n\nThe same `y` everywhere." for n in range(60)]
    documents = list(zip(names, texts, strict=True))
    monkeypatch.setattr(demo_tags, "docstring_documents", lambda: iter(documents))
    assert demo_tags.main(["--output", str(tmp_path)]) == 0
    sentences = {}
    for part in ("train", "validation", "test"):
        text = (tmp_path / f"{part}.conll").read_text()
        sentences[part] = text.strip().split("\n\n")
        assert text.endswith("\n") and text.count("B-CODE") == len(sentences[part])
    together = sum(sentences.values(), [])
    assert len(together) == len(set(together)) == 61
    for n, name in enumerate(names):
        assert any(f"\nx{n}\tB-CODE\n" in s for s in sentences[demo_tags.part_of(name)])
    assert len(sentences["train"]) > 30 and capsys.readouterr().out.startswith("train")
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.slow
def test_this_machine_has_enough_text(tmp_path):
    assert main(["demo-tags", "--output", str(tmp_path), "--max-sentences", "300"]) == 0
    text = (tmp_path / "train.conll").read_text()
    assert text.count("\n\n") > 150 and "I-CODE" in text


def test_no_part_is_empty(tmp_path):
    assert main(["demo-tags", "--output", str(tmp_path), "--max-sentences", "10"]) == 0
    assert all(path.read_text().count("\tB-CODE\n") for path in tmp_path.iterdir())


def test_too_little_text_writes_nothing(tmp_path, monkeypatch):
    documents = [("file0.py", "Give it `x` and wait.")]
    monkeypatch.setattr(demo_tags, "docstring_documents", lambda: iter(documents))
    with pytest.raises(ValueError, match="Found no sentences with marked code for .*conll"):
        demo_tags.main(["--output", str(tmp_path / "new")])
    assert not (tmp_path / "new").exists()


def test_bad_options(tmp_path, capsys):
    assert main(["demo-tags", "--output", str(tmp_path / "new"), "--max-sentences", "9"]) == 2
    assert "--max-sentences must be at least 10; got 9" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
