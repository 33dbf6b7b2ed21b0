"""Documents of sentences: both formats, document boundaries and invalid text."""

import gzip

import numpy as np
import pytest

from tests.data.pieces import Pieces
from tfreps._src.data.masked_lm import token_documents
from tfreps.data import read_documents

TOKENIZER = Pieces("abcde")


def write(folder, text, name="text.txt"):
    path = folder / name
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return path


def nested(found):
    """Returns the documents as lists of sentences of letters."""
    pieces = [TOKENIZER.vocabulary[n] for n in found.ids]
    sentences = ["".join(pieces[a:b]) for a, b in zip(found.starts, found.starts[1:], strict=False)]
    bounds = found.documents
    return [sentences[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]


def test_lines_and_blank_lines(tmp_path):
    write(tmp_path, "\n\na b\r\n c \n \t\n\nd\n\n \n", "1.txt")
    write(tmp_path, gzip.compress(b"e e e"), "2.txt.gz")
    found = read_documents(str(tmp_path / "*"), TOKENIZER)
    assert nested(found) == [["ab", "c"], ["d"], ["eee"]]
    assert (found.num_documents, found.num_sentences, found.num_tokens) == (3, 4, 7)
    assert found.ids.dtype == np.uint16 and found.num_unknown == 0


def test_records_of_both_kinds(tmp_path):
    text = "{'text1': 'a b', 'text2': 'c'}\n\n{\"text1\": \"d\", \"text2\": \"x e\"}\n"
    found = read_documents(write(tmp_path, text), TOKENIZER, "records")
    assert nested(found) == [["ab", "c"], ["d", "[UNK]e"]] and found.num_unknown == 1
    found = read_documents(write(tmp_path, text), TOKENIZER, "records", ["text2"])
    assert nested(found) == [["c"], ["[UNK]e"]]


def test_sentences_of_nothing_are_passed_over(tmp_path):
    text = "{'text1': ' ', 'text2': 'c'}\n{'text1': '', 'text2': ''}\n{'text1': 'a', 'text2': 'b'}"
    found = read_documents(write(tmp_path, text), TOKENIZER, "records")
    assert nested(found) == [["c"], ["a", "b"]]


def test_portions_change_nothing(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(list("abc"), n)) for n in rng.integers(0, 5, 50)]
    path = write(tmp_path, "\n".join(lines))
    whole = read_documents(path, TOKENIZER)
    monkeypatch.setattr(token_documents, "_SENTENCES_AT_A_TIME", 7)
    for one, other in zip(whole, read_documents(path, TOKENIZER), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "text, format, message",
    [
        ("\n \n", "lines", "There is no text in .*text.txt"),
        ("", "lines", "There is no text in"),
        ("x\ny\n", "lines", "No token in .*text.txt is in the vocabulary of 10"),
        (b"a\n\xff\n", "lines", "text.txt, line 2"),
        ("a\n\ufeff", "tsv", "`format` must be one of lines, records; got 'tsv'"),
        ("{'text1': 'a', 'text2': 'b'}\na b\n", "records", "text.txt, line 2: expected one JSON"),
        ("{'text1': 'a'}\n", "records", "text.txt, line 1: the record has no field 'text2'"),
        (
            "{'text1': 'a', 'text2': 2}",
            "records",
            "expected a string in field 'text2'; got '2' of type int",
        ),
        ("__import__('os').abort()", "records", "line 1: expected one JSON object"),
    ],
)
def test_what_is_refused(tmp_path, text, format, message):
    with pytest.raises(ValueError, match=message):
        read_documents(write(tmp_path, text), TOKENIZER, format)


def test_no_such_file():
    with pytest.raises(ValueError, match="matches no file"):
        read_documents("/nowhere/*.txt", TOKENIZER)
