"""Tests the demo corpus: sentences of prose, tokens, and parts without common sentences."""

import pytest

from tfreps.training import demo_corpus

PROSE = """The cat sat on the mat. It didn't move (not even once)! Was it asleep?

- A well-known list item, with `code` and :class:`~tf.Module` names.
- Another one of *real* words.

>>> print("code is left out of it.")
code is left out of it.

=====  =====
a      b.
=====  =====

Short one.
self.x_y = np.zeros(3); y_z = tf.ones_like(x).
"""


def test_sentences():
    assert list(demo_corpus.sentences(PROSE)) == [
        "The cat sat on the mat .",
        "It didn't move ( not even once ) !",
        "Was it asleep ?",
        "A well-known list item , with code and tf.Module names .",
        "Another one of real words .",
        "code is left out of it .",
    ]


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("don't (stop)", ["don't", "(", "stop", ")"]),
        ("3.14, well-known", ["3.14", ",", "well-known"]),
        ("naïve 東京…", ["naïve", "東京", "…"]),
        ("the end.", ["the", "end", "."]),
    ],
)
def test_tokens(text, tokens):
    assert demo_corpus.TOKEN.findall(text) == tokens


def write_text(tmp_path, count=3000):
    lines = [f"Sentence number {n} speaks of cats and of {n % 7} dogs." for n in range(count)]
    path = tmp_path / "own.txt"
    path.write_text("\n".join([*lines, lines[0], ""]), encoding="utf-8")
    return path


def read_parts(folder):
    return {path.name: path.read_text().splitlines() for path in sorted(folder.iterdir())}


def test_own_text_is_split_without_a_sentence_in_two_parts(tmp_path, capsys):
    path = write_text(tmp_path)
    assert demo_corpus.main(["--output", str(tmp_path / "out"), "--text", str(path)]) == 0
    parts = read_parts(tmp_path / "out")
    assert list(parts) == ["test.txt", "train-00.txt", "train-01.txt", "validation.txt"]
    lines = [line for part in parts.values() for line in part]
    assert len(lines) == len(set(lines)) == 3000
    for name in ("test.txt", "validation.txt"):
        assert 300 <= len(parts[name]) <= 500  # a tenth, in blocks of 200 lines
    assert "2,200 sentences     24,200 tokens" in capsys.readouterr().out


def test_twice_the_same(tmp_path):
    path = write_text(tmp_path)
    for name in ("a", "b"):
        demo_corpus.main(["--output", str(tmp_path / name), "--text", str(path)])
    assert read_parts(tmp_path / "a") == read_parts(tmp_path / "b")


def test_fewer_shards_leave_none_of_before(tmp_path):
    path, out = write_text(tmp_path), tmp_path / "out"
    demo_corpus.main(["--output", str(out), "--text", str(path), "--shards", "4"])
    (out / "train-notes.txt").write_text("the user's own")
    demo_corpus.main(["--output", str(out), "--text", str(path), "--shards", "1", "--overwrite"])
    assert sorted(read_parts(out)) == [
        "test.txt",
        "train-00.txt",
        "train-notes.txt",
        "validation.txt",
    ]


def test_no_more_tokens_than_asked_for(tmp_path):
    path = write_text(tmp_path)
    options = ["--output", str(tmp_path / "out"), "--text", str(path), "--max-tokens", "6000"]
    demo_corpus.main(options)
    lines = [line for part in read_parts(tmp_path / "out").values() for line in part]
    assert 6000 <= demo_corpus.count_tokens(lines) < 6000 + 200 * 11


def test_own_folder_with_windows_line_ends(tmp_path):
    (tmp_path / "a.txt").write_bytes(
        b"\xef\xbb\xbfThe first file is here.\r\nIt has two lines.\r\n"
    )
    (tmp_path / "b.md").write_text("This file is left out of it.")
    documents = dict(demo_corpus.own_documents([str(tmp_path)]))
    assert [list(demo_corpus.sentences(text)) for text in documents.values()] == [
        ["The first file is here .", "It has two lines ."]
    ]


@pytest.mark.parametrize(
    "content, message",
    [
        (b"fine\ncaf\xe9\n", r"own.txt, line 2: expected UTF-8 text, found the byte 0xe9"),
        (b"\0\1\0\0\1", "NUL byte"),
        ("The dog .".encode("utf-16"), "line 1: .* looks like UTF-16. Convert the file first"),
        (b"", "none were found"),
        (b"x = 1\n", "none were found"),
    ],
)
def test_text_that_is_none(tmp_path, content, message):
    (tmp_path / "own.txt").write_bytes(content)
    out = tmp_path / "out"
    with pytest.raises(ValueError, match=message):
        demo_corpus.main(["--output", str(out), "--text", str(tmp_path / "own.txt")])
    assert not out.exists()


def test_wrong_options(tmp_path):
    with pytest.raises(ValueError, match="absent.txt does not exist"):
        demo_corpus.main(["--output", str(tmp_path), "--text", str(tmp_path / "absent.txt")])
    with pytest.raises(ValueError, match="a folder with .txt files"):
        demo_corpus.main(["--output", str(tmp_path / "out"), "--text", str(tmp_path)])
    with pytest.raises(ValueError, match="--shards"):
        demo_corpus.main(["--output", str(tmp_path), "--shards", "0"])


@pytest.mark.slow
def test_this_machine_has_a_million_tokens(tmp_path):
    demo_corpus.main(["--output", str(tmp_path)])
    sizes = {name: demo_corpus.count_tokens(lines) for name, lines in read_parts(tmp_path).items()}
    assert sum(sizes.values()) > 1_000_000
    assert sizes["test.txt"] >= 20_000 and sizes["validation.txt"] >= 20_000
