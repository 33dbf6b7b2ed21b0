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
