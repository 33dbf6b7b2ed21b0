import pytest
import tensorflow as tf

from tfreps._src.text.bert.character_changes import CharacterChanges
from tfreps._src.text.bert.character_classes import replacements


@pytest.mark.slow
def test_every_character_there_is():
    characters = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    texts = [f"x{c}y" for c in characters]
    for lowercase, strip in ((True, True), (True, False), (False, True), (False, False)):
        new = replacements(lowercase, strip)
        changes = CharacterChanges(new, lowercase=lowercase)
        expected = [f"x{new.get(c, c)}y".encode() for c in characters]
        assert changes(tf.constant(texts)).numpy().tolist() == expected


def test_characters_become_none_one_and_several():
    changes = CharacterChanges(
        {"a": "xyz", "b": "", "c": "a"}, dropped=((0x30, 0x39), (0x62, 0x62))
    )
    texts = ["abc", "", "1a2c3", "b9", "no Kanji", "两a"]
    assert [text.decode() for text in changes(tf.constant(texts)).numpy()] == [
        *("xyza", "", "xyza", "", "no Kxyznji", "两xyz")
    ]


def test_no_texts_and_empty_ones():
    changes = CharacterChanges(replacements(True, True), lowercase=True)
    assert changes(tf.constant([], tf.string)).shape == (0,)
    assert changes(tf.constant(["", "ÉA\nÉ"])).numpy().tolist() == [b"", b"ea\ne"]


def test_nothing_to_replace():
    texts = [b"as IT is", b"a\xffb"]
    assert CharacterChanges({})(tf.constant(texts)).numpy().tolist() == [
        b"as IT is",
        "a\ufffdb".encode(),
    ]


def test_every_kind_of_bytes_that_are_no_utf8():
    texts = [b"a\x80b", b"\xc0\xafa", b"\xed\xa0\x80a", b"\xf4\x90\x80\x80", b"\xe4\xb8", b"ok"]
    expected = [text.decode("utf-8", "replace") for text in texts]
    found = [text.decode() for text in CharacterChanges({})(tf.constant(texts)).numpy().tolist()]
    assert [text.replace("\ufffd", "") for text in found] == [
        text.replace("\ufffd", "") for text in expected
    ]
