"""aespresso's tokens (characters, whole words, numbers) and its dictionaries."""

import json

import pytest

from tfreps._src.text.bert.character_tokens import count_tokens
from tfreps.text import CharacterTokenizer

TEXTS = ["房间 3.5 分", "Wifi 很快，wifi 2 房"]
RESERVED = [f"#UNUSED{n}#" for n in range(6, 20)]


def tokens(text, **options):
    return CharacterTokenizer(CharacterTokenizer.SPECIAL_TOKENS, **options).tokenize(text)


def test_tokens():
    assert tokens("房间 WIFI很快!") == ["房", "间", "wifi", "很", "快", "!"]
    assert tokens("3 3.5 1,000 .5 5. 3.5.1") == (
        ["#NUM#", "#NUM#", "#NUM#", ",", "#NUM#", ".", "#NUM#", "#NUM#", ".", "#NUM#", "."]
        + ["#NUM#"]
    )
    assert tokens("a1b x-ray Müller ３") == (
        ["a", "#NUM#", "b", "x", "-", "ray", "m", "ü", "ller", "３"]
    )
    assert tokens("ΟΔΟΣ İ") == ["ο", "δ", "ο", "σ", "i", "\u0307"]
    assert tokens(" \t\n\u3000") == tokens("") == []


def test_options():
    text = "Wi 3.5\n房"
    assert tokens(text, lowercase=False) == ["Wi", "#NUM#", "房"]
    assert tokens(text, numbers=False) == ["wi", "3", ".", "5", "房"]
    assert tokens(text, whole_words=False) == ["w", "i", "#NUM#", "房"]
    assert tokens(text, keep_white_space=True) == ["wi", " ", "#NUM#", "\n", "房"]


def test_a_dictionary_from_texts():
    tokenizer = CharacterTokenizer.from_texts(TEXTS)
    head = ["#PAD#", "#UNK#", "#CLS#", "#SEP#", "#MASK#", "#NUM#", *RESERVED]
    assert tokenizer.vocabulary == [*head, "wifi", "房", "分", "很", "快", "间", "，"]
    assert tokenizer.special_ids == list(range(20))
    assert (tokenizer.padding_id, tokenizer.unknown_id, tokenizer.start_id) == (0, 1, 2)
    assert (tokenizer.separator_id, tokenizer.mask_id) == (3, 4)
    assert tokenizer.text_to_ids("房 7 WiFi x") == [21, 5, 20, 1]
    assert CharacterTokenizer.from_texts(TEXTS, min_count=2).vocabulary[20:] == ["wifi", "房"]
    assert CharacterTokenizer.from_texts(TEXTS, max_size=21).vocabulary[20:] == ["wifi"]
    kept = CharacterTokenizer.from_texts(["A 1"], lowercase=False, numbers=False)
    assert kept.vocabulary[20:] == ["1", "A"]
    assert kept.get_config()["numbers"] is False


def test_counting_tells_how_far_it_is():
    told = []
    counts = count_tokens(TEXTS, lambda *numbers: told.append(numbers))
    assert told == [(4, 4), (11, 8)] and counts["wifi"] == 2 and counts["#NUM#"] == 2


def test_sizes_that_make_no_sense():
    with pytest.raises(ValueError, match="`min_count` must be at least 1; got 0"):
        CharacterTokenizer.from_texts(TEXTS, min_count=0)
    with pytest.raises(ValueError, match="must be greater than 20, .*; got 20"):
        CharacterTokenizer.from_texts(TEXTS, max_size=20)
    with pytest.raises(ValueError, match="found no #NUM#"):
        CharacterTokenizer(["#PAD#", "#UNK#", "#CLS#", "#SEP#", "#MASK#", "a"])


def write(path, ids):
    path.write_text(ids if isinstance(ids, str) else json.dumps(ids, ensure_ascii=False), "utf-8")
    return path


def test_aespressos_dictionaries(tmp_path):
    """Two dictionaries: one with special tokens, one without, with words and unused ids."""
    special = dict(zip(CharacterTokenizer.SPECIAL_TOKENS, range(6), strict=True))
    first = write(tmp_path / "bert_word2idx.json", {**special, "房": 20, " ": 22})
    tokenizer = CharacterTokenizer.from_dictionary(first)
    assert tokenizer.vocabulary == [*special, *RESERVED, "房", "#UNUSED21#", " "]
    assert tokenizer.special_ids == [*range(20), 21]
    second = write(tmp_path / "bert_word2idx_extend.json", {"wifi": 21, "房": 20, "鱾": 22})
    tokenizer = CharacterTokenizer.from_dictionary(second, vocabulary_size=22)
    assert tokenizer.text_to_ids("房WIFI鱾 3") == [20, 21, 1, 5] and len(tokenizer.vocabulary) == 22
    assert len(CharacterTokenizer.from_dictionary(second, 30, lowercase=False).vocabulary) == 30


def test_a_dictionary_is_written_as_it_is_read(tmp_path):
    tokenizer = CharacterTokenizer.from_texts([*TEXTS, "\n\u3000"], keep_white_space=True)
    tokenizer.write_dictionary(tmp_path / "d.json")
    ids = json.loads((tmp_path / "d.json").read_text("utf-8"))
    assert ids["#CLS#"] == 2 and len(ids) == len(tokenizer.vocabulary) - 14
    again = CharacterTokenizer.from_dictionary(tmp_path / "d.json")
    assert again.vocabulary == tokenizer.vocabulary


@pytest.mark.parametrize(
    "ids, message",
    [
        ({"房": "20"}, "the id of '房' must be an integer in .0, 1048575.; got '20'"),
        ({"房": -1}, "must be an integer in .0, 1048575.; got -1"),
        ({"房": 2**31}, "must be an integer in .0, 1048575.; got 2147483648"),
        ({"房": 20, "间": 20}, "'房' and '间' have the same id, 20"),
        ({"房": 7}, "the id of '房' must be at least 20, .*; got 7"),
        ({"#CLS#": 3}, "#CLS# must have the id 2; got 3"),
        ('{"房": 20, "房": 21}', "d.json cannot be read as JSON: the key '房' occurs more"),
        ("[]", "expected a JSON object, .* got \\["),
    ],
)
def test_bad_dictionaries(tmp_path, ids, message):
    with pytest.raises(ValueError, match=message):
        CharacterTokenizer.from_dictionary(write(tmp_path / "d.json", ids))


def test_the_published_dictionary(tfreps_data):
    path = tfreps_data / "hotel_reviews" / "bert_word2idx_extend.json"
    if not path.is_file():
        pytest.skip("needs hotel_reviews")
    tokenizer = CharacterTokenizer.from_dictionary(path, vocabulary_size=32162)
    assert tokenizer.text_to_ids("积极 clinical 3.5") == [
        20,
        21,
        tokenizer.vocabulary.index("clinical"),
        5,
    ]
    assert len(tokenizer.vocabulary) == 32162 and tokenizer.vocabulary[-1] == "䱗"
    assert tokenizer.text_to_ids("䱛鱾 jalpa") == [
        1,
        1,
        1,
    ]  # their ids are outside the range of the models
