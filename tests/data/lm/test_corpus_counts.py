import pytest

from tfreps.data import count_corpus
from tfreps.text import Vocabulary

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])


def test_counts(tmp_path):
    (tmp_path / "1.txt").write_text("a b a x\n\n")
    (tmp_path / "2.txt").write_text("<UNK> b")
    count = count_corpus(str(tmp_path / "*.txt"), VOCABULARY)
    assert count[:4] == (9, 3, 6, 2)  # positions, sentences, tokens, unknown
    assert count.token_counts.tolist() == [0, 0, 0, 2, 2]
    count = count_corpus(str(tmp_path / "*.txt"), VOCABULARY, skip_blank=True)
    assert count[:4] == (8, 2, 6, 2)
    VOCABULARY.check_order(count.token_counts)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"a b\nb \xe9\n", "a.txt, line 2: expected UTF-8 text, found the byte 0xe9"),
        (b"a\nb\nc \x00\n", "a.txt, line 3: .* binary"),
        (b"a\nb <S> a\n", "a.txt, line 2: the token '<S>' marks the boundary"),
        (b"a\n\nb </S>\n", "a.txt, line 3: the token '</S>' marks the boundary"),
        (b"<UNK>\n<UNK> x\n", "None of the 3 tokens in .* is in the vocabulary"),
        (b"", "no text in"),
        (b"\n\n", "no text in"),
        (b"x y\nz\n", "None of the 3 tokens in .* is in the vocabulary"),
    ],
)
def test_bad_text(tmp_path, data, message):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        count_corpus(path, VOCABULARY)
