import tensorflow as tf

from tfreps.text.character_changes import CharacterChanges, valid_utf8
from tfreps.text.unicode_tables import replacements

CHARACTERS = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]


def test_every_character_there_is():
    texts = [f"x{c}y" for c in CHARACTERS]
    for lowercase, strip in ((True, True), (True, False), (False, True), (False, False)):
        new = replacements(lowercase, strip)
        changed = CharacterChanges(lowercase, strip)(tf.constant(texts)).numpy().tolist()
        expected = [f"x{new.get(c, c)}y".encode() for c in CHARACTERS]
        assert changed == expected


def test_no_texts_and_empty_ones():
    changes = CharacterChanges(True, True)
    assert changes(tf.constant([], tf.string)).shape == (0,)
    assert changes(tf.constant(["", "ÉA\nÉ"])).numpy().tolist() == [b"", b"ea\ne"]


def test_valid_utf8():
    assert valid_utf8([b"a\xff", "é".encode()]).numpy().tolist() == [
        "a\ufffd".encode(),
        "é".encode(),
    ]


def test_every_kind_of_bytes_that_are_no_utf8():
    texts = [b"a\x80b", b"\xc0\xafa", b"\xed\xa0\x80a", b"\xf4\x90\x80\x80", b"\xe4\xb8", b"ok"]
    expected = [text.decode("utf-8", "replace") for text in texts]
    found = [text.decode() for text in valid_utf8(tf.constant(texts)).numpy().tolist()]
    assert [text.replace("\ufffd", "") for text in found] == [
        text.replace("\ufffd", "") for text in expected
    ]
