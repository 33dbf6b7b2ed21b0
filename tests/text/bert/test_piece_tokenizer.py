"""Vocabulary files and their errors, special ids, and packing of one or two texts."""

import pytest

from tfreps._src.text.bert.piece_tokenizer import read_pieces
from tfreps.text import WordPieceTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENIZER = WordPieceTokenizer(["a", *SPECIALS, "##b", "[unused1]"])


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_ids_are_places():
    t = TOKENIZER
    assert (t.padding_id, t.unknown_id, t.start_id, t.separator_id, t.mask_id) == (1, 2, 3, 4, 5)
    assert t.special_ids == [1, 2, 3, 4, 5, 7]
    assert t.text_to_ids("ab c") == [0, 6, 2] == t.pieces_to_ids(["a", "##b", "[UNK]"])
    assert t.pieces_to_ids(["##c"]) == [2]


def test_remembered_ids_are_not_changed():
    long = "a" + "b" * 80  # the ids of so long a word are not remembered
    for text, expected in ("ab  ab\na", [0, 6, 0, 6, 0]), (f"a {long}", [0, 0, *[6] * 80]):
        ids = TOKENIZER.text_to_ids(text)
        assert ids == expected
        ids.append(9)
        assert TOKENIZER.texts_to_ids([text, "", text]) == [expected, [], expected]


def test_files_are_read_line_by_line(tmp_path):
    lines = [*SPECIALS, "a", "\u2028", " b"]
    for end in ("\n", "\r\n"):
        path = write(tmp_path / "vocab.txt", end.join(lines) + end)
        assert WordPieceTokenizer.from_vocabulary_file(path).vocabulary == lines
    assert read_pieces(write(tmp_path / "v", "a\nb")) == ["a", "b"]
    assert read_pieces(write(tmp_path / "v", "\ufeffa\nb")) == ["a", "b"]
    assert read_pieces(write(tmp_path / "v", "a\r\nb\r\n\r\n\n")) == ["a", "b"]  # blank at the end
    options = {"lowercase": False, "max_characters_per_word": 7}
    tokenizer = WordPieceTokenizer.from_vocabulary_file(path, **options)
    tokenizer.write_vocabulary(tmp_path / "again.txt")
    assert read_pieces(tmp_path / "again.txt") == lines
    assert tokenizer.get_config() == {
        "vocabulary": lines,
        "lowercase": False,
        "strip_accents": None,
        "split_chinese": True,
        "max_characters_per_word": 7,
        "max_length": None,
    }


@pytest.mark.parametrize(
    "data, message",
    [
        ("\n".join(SPECIALS[:4]), r"vocab.txt: found no \[MASK\] among 4 pieces"),
        ("a\n", r"found no \[PAD\] or \[UNK\] or "),
        ("\n".join([*SPECIALS, "a", "b", "a"]), "line 8: 'a' is already on line 6"),
        ("\n".join([*SPECIALS, "", "b"]), "line 6: the line is blank"),
        (b"[PAD]\n\xff\n", "line 2: expected UTF-8 text, found the byte 0xff"),
        ("", "is empty. Expected one piece per line"),
    ],
)
def test_bad_files(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        WordPieceTokenizer.from_vocabulary_file(write(tmp_path / "vocab.txt", data))


def test_no_file(tmp_path):
    with pytest.raises(ValueError, match="Cannot read the vocabulary .*nowhere: No such file"):
        WordPieceTokenizer.from_vocabulary_file(tmp_path / "nowhere")


def test_pieces_that_a_file_cannot_hold(tmp_path):
    tokenizer = WordPieceTokenizer([*SPECIALS, "a\nb"])
    with pytest.raises(ValueError, match=r"'a\\nb' cannot be written to a file"):
        tokenizer.write_vocabulary(tmp_path / "v")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="line 2: a piece must be a str; got 7"):
        WordPieceTokenizer(["a", 7])


def test_pack():
    assert TOKENIZER.build_inputs([0, 6]) == ([3, 0, 6, 4], [0, 0, 0, 0])
    assert TOKENIZER.build_inputs([]) == ([3, 4], [0, 0])
    assert TOKENIZER.build_inputs([0], [6, 6]) == ([3, 0, 4, 6, 6, 4], [0, 0, 0, 1, 1, 1])
    assert TOKENIZER.build_inputs([0, 6], max_length=4) == ([3, 0, 6, 4], [0, 0, 0, 0])


def test_a_batch_is_what_pack_says_padded():
    words, others = ["x a", "", "a a a"], ["a", "x x", ""]
    for second, length in ((None, 5), (others, 6)):
        found = TOKENIZER.build_batch(words, second, too_long="truncate", max_length=length)
        assert {name: array.dtype.name for name, array in found.items()} == {
            "token_ids": "int32",
            "segment_ids": "int32",
            "mask": "bool",
        }
        for row, text in enumerate(words):
            other = None if second is None else TOKENIZER.text_to_ids(second[row])
            ids, segments = TOKENIZER.build_inputs(
                TOKENIZER.text_to_ids(text), other, length, "truncate"
            )
            fill = found["mask"].shape[1] - len(ids)
            assert found["token_ids"][row].tolist() == ids + [TOKENIZER.padding_id] * fill
            assert found["segment_ids"][row].tolist() == segments + [0] * fill
            assert found["mask"][row].tolist() == [True] * len(ids) + [False] * fill
    assert TOKENIZER.build_batch([])["token_ids"].shape == (0, 0)


def test_batches_that_are_none():
    with pytest.raises(ValueError, match="`texts` must be a list of texts; .* 'a text'"):
        TOKENIZER.build_batch("a text")
    with pytest.raises(ValueError, match="`second` must be a list of texts; got the string 'a'"):
        TOKENIZER.build_batch(["a"], "a")
    with pytest.raises(ValueError, match="`second` must have as many texts as `texts`, 2; got 1"):
        TOKENIZER.build_batch(["a", "a"], ["a"])
    with pytest.raises(ValueError, match="at most 1 fit"):
        TOKENIZER.build_batch(["a a"], max_length=3)


def test_what_is_too_long_is_an_error_or_truncated():
    with pytest.raises(ValueError, match="3 pieces, but at most 2 fit .*`max_length` is 4"):
        TOKENIZER.build_inputs([0, 6, 6], max_length=4)
    assert TOKENIZER.build_inputs([0, 6, 6], max_length=4, too_long="truncate")[0] == [3, 0, 6, 4]
    with pytest.raises(ValueError, match="one of error, truncate; got 'split'"):
        TOKENIZER.build_inputs([0], too_long="split")
    with pytest.raises(ValueError, match="leave room for text alongside 2 special tokens; got 2"):
        WordPieceTokenizer(WordPieceTokenizer.SPECIAL_TOKENS, max_length=2)
    with pytest.raises(ValueError, match="leave room for text alongside 3 special tokens; got 3"):
        TOKENIZER.build_inputs([0], [0], max_length=3)


def test_pairs_are_cut_as_googles_are():
    """Removes one id at a time from the longer text, or the second if equally long."""
    for size in range(6):
        for other in range(6):
            for room in range(1, 12):
                sizes = [size, other]
                while sum(sizes) > room:
                    sizes[sizes[1] >= sizes[0]] -= 1
                texts = [0] * size, [6] * other
                ids, segments = TOKENIZER.build_inputs(
                    *texts, max_length=room + 3, too_long="truncate"
                )
                assert ids == [3, *[0] * sizes[0], 4, *[6] * sizes[1], 4]
                assert segments == [0] * (sizes[0] + 2) + [1] * (sizes[1] + 1)
