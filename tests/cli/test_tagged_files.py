import argparse
import re

import pytest

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import default_values
from tfreps._src.cli.tagged_files import (
    COLUMNS,
    OPTIONS,
    check_tags,
    check_tokens,
    read_tagged_files,
)
from tfreps.data import TaggedSentence


def options(**given):
    return argparse.Namespace(**default_values(OPTIONS) | given)


def read(folder, text, name="format", kept=None, **given):
    path = folder / "a.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [(s.tokens, s.tags) for s in read_tagged_files(options(**given), path, name, kept)]


def test_flags(tmp_path):
    table = {"format": OPTIONS["format"], **COLUMNS}
    parse = Command("test", "Tests.", {}, [Group("columns", "Columns.", table)]).parse
    words = "--separator tab --token-column -2 --tag-column xpos"
    given = parse(words.split())
    assert (given.separator, given.token_column, given.tag_column) == ("\t", -2, "xpos")
    assert parse(["--separator", "\\t"]).separator == "\t"
    assert parse(["--separator", "space"]).separator == " "
    text = "New York\tB-LOC\n"
    assert read(tmp_path, text, separator="\t") == [(["New York"], ["B-LOC"])]


def test_options_of_a_run_apply_to_files_of_the_same_format(tmp_path):
    kept = {"format": "conll", "token_column": 1, "tag_column": 0, "encoding": "latin-1"}
    unset = {"format": None, "encoding": None}
    assert read(tmp_path, b"O \xe9 x\n", kept=kept, **unset) == [(["\xe9"], ["O"])]
    assert read(tmp_path, b"O \xe9 x\n", kept=kept, **unset | {"tag_column": 2})[0][1] == ["x"]
    given = unset | {"format": "conllu"}
    text = "1\t\xe9\tb\tNOUN\tNN" + "\t_" * 5 + "\n"
    assert read(tmp_path, text.encode("latin-1"), kept=kept, **given) == [(["\xe9"], ["NOUN"])]


@pytest.mark.parametrize(
    "text, given, message",
    [
        ("a\n", {}, "Change --token-column, --tag-column or --separator, or add the column"),
        (
            b"na\xefve O\n",
            {},
            "line 1: expected UTF-8 text, found the byte 0xef .*Set --encoding to",
        ),
        ("a O\n".encode("utf-16"), {}, "Set --encoding to UTF-16"),
        (b"\x81 O\n", {"encoding": "cp1252"}, "Set --encoding to the encoding of the file"),
        ("# a b\na O\n", {}, "Remove the lines that begin with #, or set --format to conllu"),
        (
            "a O\n",
            {"tag_column": "xpos"},
            "--tag-column must be .* with --format conll; got 'xpos'",
        ),
    ],
)
def test_errors_name_flags(tmp_path, text, given, message):
    program = Command("test", "Tests.", {}, [Group("columns", "Columns.", OPTIONS)])
    with pytest.raises(ValueError) as raised:
        read(tmp_path, text, **given)
    assert re.search(message, program.with_flags(str(raised.value)))


def test_tokens_that_raw_text_would_not_have(capsys):
    sentences = [["In", "the", "U.N.", "."], ["Don", "n't"], *([["yes", "!"]] * 18)]
    check_tokens(sentences, "treebank")
    check_tokens(sentences[1:], "words")  # 1 of 19 sentences, 5.3%, differs
    check_tokens([*sentences[1:], ["no"]], "words")  # 1 of 20
    check_tokens([], "words")
    check_tokens(sentences, "words")
    shown = capsys.readouterr().out.splitlines()
    assert [line[:58] for line in shown] == [
        "Warning: --tokens words does not reproduce the tokens of 5",
        "Warning: --tokens words does not reproduce the tokens of 1",
    ]
    assert "of 10% of the training sentences: 'U.N.' becomes 'U . N .'. " in shown[1]


def test_marks_that_raw_text_attaches_to_words(capsys):
    check_tokens([["In", "U.N.", "("], *([["yes"]] * 19), ["no", "."]], "spaces")  # 1 of 21
    check_tokens([], "spaces")
    assert capsys.readouterr().out == ""
    check_tokens([*([["yes"]] * 18), ["no", "."]], "spaces")  # 1 of 19, 5.3%
    assert capsys.readouterr().out.startswith("Note: punctuation marks are tokens of the training")


def test_raw_text_of_chinese_has_no_spaces(capsys):
    sentences = [[*"王先生在", "1", "9", *"年。"]]
    check_tokens(sentences, "characters")
    assert capsys.readouterr().out == ""
    check_tokens(sentences, "words")
    shown = capsys.readouterr().out
    assert "of 100% of the training sentences: '王' becomes '王先生在'. " in shown


def test_illegal_transitions(capsys):
    sentences = [TaggedSentence(["a"], ["O"], "a.txt", 1)]
    check_tags({"train": sentences}, "bio")
    sentences.append(TaggedSentence(["a", "b", "c"], ["O", "I-X", "B-Y"], "a.txt", 3))
    check_tags({"train": sentences}, None)
    assert capsys.readouterr().out == ""
    warning = (
        "Warning: --{} has 1 transitions that are illegal in 'bio', in 1 of 2 sentences. The "
        "first such sentence starts in line 3 of a.txt.\n"
    )
    impossible = (
        "The loss treats them as impossible, and the reported loss leaves out these sentences. "
        "Correct the tags, or use --constrain decode.\n"
    )
    check_tags({"train": sentences, "validation": sentences}, "bio")
    assert capsys.readouterr().out == warning.format("train") + warning.format("validation")
    check_tags({"train": sentences, "validation": sentences}, "bio", loss_forbids=True)
    assert capsys.readouterr().out == (
        warning.format("train") + impossible + warning.format("validation") + impossible
    )
    with pytest.raises(ValueError, match="a.txt, line 3, token 2: "):
        check_tags({"train": [sentences[1]._replace(tags=["O", "X"])]}, "bio")


@pytest.mark.parametrize(
    "scheme, other, tags", [("bio", "iob1", ["I-X", "I-X"]), ("iob1", "bio", ["B-X", "I-X"])]
)
def test_other_scheme_with_the_same_letters(capsys, scheme, other, tags):
    sentence = TaggedSentence(["a", "b"], tags, "a.txt", 1)
    check_tags({"train": [sentence], "validation": []}, scheme)
    advice = f"All are legal in {other!r}. If that is their scheme, give --scheme {other}.\n"
    assert capsys.readouterr().out.endswith(f"line 1 of a.txt.\n{advice}")
