import pytest

from tfreps.text import Vocabulary, token_character_ids

SPECIALS = ["<S>", "</S>", "<UNK>"]


def write(folder, data):
    path = folder / "vocabulary.txt"
    path.write_bytes(data)
    return path


def test_ids_are_line_numbers(tmp_path):
    path = write(tmp_path, "the\n</S>\n<UNK>\ncafé\n<S>\n".encode())
    vocabulary = Vocabulary.read(path)
    assert vocabulary.tokens == ["the", "</S>", "<UNK>", "café", "<S>"]
    assert (vocabulary.start_id, vocabulary.end_id, vocabulary.unknown_id) == (4, 1, 2)
    assert vocabulary.tokens_to_ids(["café", "The", "the", "<S>"]) == [3, 2, 0, 4]
    assert len(vocabulary) == 5 and "café" in vocabulary and "The" not in vocabulary


def test_write_then_read(tmp_path):
    tokens = [*SPECIALS, "a", "日本", "x\u2028y"]  # U+2028 does not end a line
    path = tmp_path / "vocabulary.txt"
    Vocabulary(tokens).write(path)
    assert path.read_bytes() == "".join(t + "\n" for t in tokens).encode()
    assert Vocabulary.read(path).tokens == tokens
    assert [p.name for p in tmp_path.iterdir()] == ["vocabulary.txt"]


def test_failed_write_leaves_the_old_file(tmp_path):
    path = write(tmp_path, b"old")
    with pytest.raises(ValueError):
        Vocabulary([*SPECIALS, "\ud800"]).write(path)  # cannot be encoded
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_windows_lines_and_bilm_tf_filler(tmp_path):
    path = write(tmp_path, b"<S>\r\n</S>\r\n<UNK>\r\n!!!MAXTERMID\r\nword")
    assert Vocabulary.read(path).tokens == [*SPECIALS, "word"]
    path = write(tmp_path, b"\xef\xbb\xbf<S>\n</S>\n<UNK>\n")
    assert Vocabulary.read(path).tokens == [*SPECIALS]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"<S>\n<UNK>\nthe\n", "vocabulary.txt: found no </S> among 3 tokens"),
        (b"<S>\n</S>\nthe\n<unk>\n", "vocabulary.txt: found no <UNK>"),
        (b"<S>\n</S>\n<UNK>\na\nb\na\n", "line 6: 'a' is already on line 4"),
        (b"<S>\n</S>\n\n<UNK>\n", "line 3: the line is blank"),
        (b"<S>\n</S>\n<UNK>\na\n\n", "line 5: the line is blank"),
        (b"", "line 1: the line is blank"),
        (b"<S>\n</S>\n<UNK>\n a\n", "line 4: a token must not start or end with white space"),
        (b"<S>\n</S>\n<UNK>\ncaf\xe9\n", "line 4: expected UTF-8 text, found the byte 0xe9"),
        (b"<S>\n</S>\x00\x01\n", "line 2: expected UTF-8 text, found a NUL byte"),
    ],
)
def test_bad_files(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary.read(write(tmp_path, data))


def test_unreadable(tmp_path):
    with pytest.raises(ValueError, match="Cannot read .*none.txt: No such file"):
        Vocabulary.read(tmp_path / "none.txt")
    with pytest.raises(ValueError, match="Cannot read .*Is a directory"):
        Vocabulary.read(tmp_path)


def test_bad_tokens():
    with pytest.raises(ValueError, match="line 4: a token must not contain a line feed"):
        Vocabulary([*SPECIALS, "a\nb"])
    with pytest.raises(ValueError, match="line 4: expected a str; got 7"):
        Vocabulary([*SPECIALS, 7])


def test_character_table():
    table = Vocabulary(["<S>", "dog", "</S>", "<UNK>"]).character_table(8)
    assert table.dtype == "int32" and table.shape == (4, 8)
    assert table[0].tolist() == [259, 257, 260] + [261] * 5
    assert table[2].tolist() == [259, 258, 260] + [261] * 5
    assert table[1].tolist() == token_character_ids("dog", 8).tolist()
    assert table[3].tolist() == [259, 61, 86, 79, 76, 63, 260, 261]  # <UNK> spelled out


def test_a_count_that_leaves_nothing():
    with pytest.raises(ValueError, match="`min_count` must be at most 3, .* token 'b'; got 4"):
        Vocabulary.from_counts({"a": 1, "b": 3, "<UNK>": 9}, min_count=4)
    assert len(Vocabulary.from_counts({}, min_count=4)) == 3


def test_from_counts():
    counts = {"b": 2, "a": 2, "é": 5, "rare": 1, "<UNK>": 9}
    assert Vocabulary.from_counts(counts).tokens == [*SPECIALS, "é", "a", "b", "rare"]
    assert Vocabulary.from_counts(counts, min_count=2).tokens == [*SPECIALS, "é", "a", "b"]
    assert Vocabulary.from_counts(counts, max_size=5).tokens == [*SPECIALS, "é", "a"]
    with pytest.raises(ValueError, match="max_size"):
        Vocabulary.from_counts(counts, max_size=3)
    with pytest.raises(ValueError, match="min_count"):
        Vocabulary.from_counts(counts, min_count=0)


def test_check_order():
    vocabulary = Vocabulary(["a", "<S>", "b", "</S>", "c", "<UNK>"])
    vocabulary.check_order({"a": 3, "b": 3, "c": 1, "<UNK>": 100, "</S>": 50})
    vocabulary.check_order([3, 0, 3, 50, 0, 100])
    with pytest.raises(
        ValueError, match=r"'b' \(id 2\) occurs 2 times .* 'c' \(id 4\) occurs 4 times"
    ):
        vocabulary.check_order({"a": 3, "b": 2, "c": 4})
    with pytest.raises(ValueError, match=r"'b' \(id 2\) occurs 0 times"):
        vocabulary.check_order([1, 0, 0, 0, 1, 0])
