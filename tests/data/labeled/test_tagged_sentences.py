import pathlib

import pytest

from tfreps.data import read_tagged

ADA = (["Ada", "sleeps"], ["B-PER", "O"])
SHE = (["She"], ["O"])


def read(folder, text, **options):
    path = folder / "a.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return [(sentence.tokens, sentence.tags) for sentence in read_tagged(path, **options)]


@pytest.mark.parametrize(
    "text",
    [
        "Ada B-PER\nsleeps O\n\nShe O\n\n",
        "Ada B-PER\nsleeps O\n\nShe O",  # neither a blank line nor a line feed at the end
        "\n\nAda B-PER\nsleeps O\n \t\n\nShe O\n\n\n",
        "Ada\tB-PER\nsleeps \t O\t\n\nShe  O \n",  # tabs and spaces mixed
        "\ufeffAda B-PER\r\nsleeps O\r\n\r\nShe O\r\n",
        "-DOCSTART- O\n\nAda B-PER\nsleeps O\n-DOCSTART- -X- -X- O\nShe O\n",
        "-DOCSTART- -DOCSTART- O\nAda B-PER\nsleeps O\n\n-DOCSTART- -DOCSTART- O\nShe O\n",
    ],
)
def test_columns(tmp_path, text):
    assert read(tmp_path, text) == [ADA, SHE]


def test_which_columns(tmp_path):
    text = "1 Ada NNP B-PER\n2 sleeps VB O\n"
    assert read(tmp_path, text, token_column=1) == [ADA]
    assert read(tmp_path, text, token_column=-3, tag_column=3) == [ADA]
    assert read(tmp_path, text, token_column=1, tag_column=2) == [(ADA[0], ["NNP", "VB"])]
    assert read(tmp_path, text, token_column=1, read_tags=False) == [(ADA[0], [])]
    assert read(tmp_path, "Ada\nsleeps\n", read_tags=False) == [(ADA[0], [])]


def test_one_separator(tmp_path):
    text = "New York\tB-LOC\n\u3000\tO\n"
    assert read(tmp_path, text, separator="\t") == [(["New York", "\u3000"], ["B-LOC", "O"])]
    for token in "\u3000\xa0":  # white space, but neither space nor tab
        assert read(tmp_path, f"{token} O\n") == [([token], ["O"])]
    with pytest.raises(ValueError, match="line 1: the token is empty"):
        read(tmp_path, "\tO\n", separator="\t")
    with pytest.raises(ValueError, match="line 2: the tag is empty"):
        read(tmp_path, "a O\nb \n", separator=" ")


def test_document_starts_as_sentences(tmp_path):
    found = read(tmp_path, "-DOCSTART- O\nShe O\n", skip_document_starts=False)
    assert found == [(["-DOCSTART-"], ["O"]), SHE]
    text = "1 -DOCSTART- -X- O\n1 Ada NNP B-PER\n2 sleeps VB O\n"
    assert read(tmp_path, text, token_column=1) == [ADA]
    found = read(tmp_path, text, token_column=1, skip_document_starts=False)
    assert found == [(["-DOCSTART-"], ["O"]), ADA]


CONLLU = """# newdoc id = a
# sent_id = 1
# text = Don't go now
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tright\t_\tADV\t_\t_\t_\t_\t3:x\t_
4\tnow\tnow\tADV\tRB\t_\t3\tadvmod\t_\t_

# sent_id = 2
1\t20\xa0000 #\t20000\tNUM\tCD\t_\t0\troot\t_\t_
"""


def test_conllu(tmp_path):
    tokens = [["Do", "n't", "go", "now"], ["20\xa0000 #"]]
    tags = {
        "upos": [["AUX", "PART", "VERB", "ADV"], ["NUM"]],
        "xpos": [["VB", "RB", "VB", "RB"], ["CD"]],
        "feats": [["Mood=Imp", "_", "_", "_"], ["_"]],
    }
    for name, rows in tags.items():
        expected = list(zip(tokens, rows, strict=True))
        assert read(tmp_path, CONLLU, format="conllu", tag_column=name) == expected
    upos = list(zip(tokens, tags["upos"], strict=True))
    assert read(tmp_path, "\ufeff" + CONLLU.replace("\n", "\r\n"), format="conllu") == upos
    assert read(tmp_path, CONLLU, format="conllu", tag_column=3) == upos
    found = read(tmp_path, CONLLU, format="conllu", token_column="lemma", read_tags=False)
    assert found == [(["do", "not", "go", "now"], []), (["20000"], [])]
    assert [s.line for s in read_tagged(tmp_path / "a.txt", "conllu")] == [5, 12]


@pytest.mark.parametrize(
    "text, options, message",
    [
        (
            CONLLU,
            {"tag_column": "pos"},
            "`tag_column` must be the number of a column, or one of id",
        ),
        (CONLLU, {"tag_column": 10}, r"line 5: expected .* column 10 \(counted .*; got 10 columns"),
        (
            CONLLU,
            {"tag_column": "form"},
            "line 5: expected a token in column 1 and a tag in a diff",
        ),
        (
            CONLLU.replace("3:aux", "_"),
            {"tag_column": "deps"},
            "column deps is empty: every tag is",
        ),
        (CONLLU.replace("\t", " "), {}, "line 4: expected 10 columns of CoNLL-U, .* 1 columns, "),
        (
            "Ada\tB-PER\n",
            {},
            "line 1: expected 10 columns of CoNLL-U, .* 2 columns, .* set `format`",
        ),
        (CONLLU.replace("\n\n", "\n"), {}, "line 10: expected word 5 or a blank line after word 4"),
        (
            CONLLU.replace("\n\n# sent_id = 2\n", "\n"),
            {},
            r"line 10: expected word 5 of the sentence; got .*\. Add the blank lines between",
        ),
        (
            CONLLU.replace("3\tgo\t", "4\tgo\t"),
            {},
            r"line 7: expected word 3 of the .*; got '4\\tgo",
        ),
        (CONLLU.replace("2\tn't\t", "# 2\tn't\t"), {}, "line 6: expected word 2 or a blank line"),
        (CONLLU.replace("3\tgo\t", "\n3\tgo\t"), {}, "line 8: expected word 1 of the sentence"),
    ],
)
def test_bad_conllu(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, format="conllu", **options)


@pytest.mark.parametrize(
    "text",
    [
        '{"text": ["Ada", "sleeps"], "label": ["B-PER", "O"]}\n{"text": ["She"], "label": ["O"]}',
        "\ufeff{'text': ['Ada', 'sleeps'], 'label': ['B-PER', 'O']}\r\n\r\n"
        "{'label': ('O',), 'text': ['She'], 'more': 1}\r\n",
    ],
)
def test_json(tmp_path, text):
    format, other = ("python", "json") if "'" in text else ("json", "python")
    assert read(tmp_path, text, format=format) == [ADA, SHE]
    if format == "python":
        with pytest.raises(ValueError, match="line 1: expected one JSON object"):
            read(tmp_path, text, format=other)


def test_json_fields(tmp_path):
    text = '{"words": ["She"], "pos": ["O"]}'
    options = {"format": "json", "token_field": "words"}
    assert read(tmp_path, text, tag_field="pos", **options) == [SHE]
    assert read(tmp_path, text, read_tags=False, **options) == [(["She"], [])]


def test_where(tmp_path):
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text("\na O\nb O\n\nc O\n")
    found = read_tagged(f"{tmp_path}/*.txt")
    places = [(pathlib.Path(sentence.file).name, sentence.line) for sentence in found]
    assert places == [("a.txt", 2), ("a.txt", 5), ("b.txt", 2), ("b.txt", 5)]


@pytest.mark.parametrize(
    "text, options, message",
    [
        ("", {}, "a.txt is empty"),
        ("\n \n", {}, "a.txt contains no sentence"),
        ("-DOCSTART- O\n", {}, "a.txt contains no sentence"),
        ("a O\nb\n", {}, "line 2: expected 2 columns as in line 1; got 1: 'b'"),
        ("a O\n\nb X O\n", {}, "line 3: expected 2 columns as in line 1; got 3"),
        ("\na\n", {}, "line 2: expected a token in column 0 and a tag .* got 1 column: 'a'"),
        ("a O\n", {"tag_column": 2}, r"line 1: .* column 2 \(counted .*; got 2 columns"),
        ("a O\n", {"token_column": -3}, "line 1: expected a token in column -3"),
        ("a O\n", {"token_column": 1}, "expected a token in column 1 and a tag in a different one"),
        ("a\u3000O\n", {}, "line 1: .* got 1 column"),
        ("a\n", {}, "Change `token_column`, `tag_column` or `separator`, or add the column"),
        ("a\n", {"token_column": 1, "read_tags": False}, "Change `token_column` or `separator`"),
        (
            "a O\n",
            {"tag_column": "upos"},
            "`tag_column` must be .* with `format` conll; got 'upos'",
        ),
        ("# a comment\na O\n", {}, "line 1: expected columns; got the comment line '# a com"),
        (
            "a O\n\n# sent_id = 2\nb O\n",
            {},
            "line 3: .* got the comment line .* set `format` to conllu",
        ),
        ("#begin\na O\n", {}, "line 1: .* the comment line"),
        ("#hashtag O\nis O\n\nfoo\n", {}, "line 4: expected 2 columns as in line 1; got 1: 'foo'"),
        ("# id 1 x=y\na b c O\n\n# id 2 x=y\nd b c O\n", {}, "line 1: .* the comment line"),
        (b"a O\n\xff O\n", {}, "line 2: expected UTF-8"),
        (
            '\n{"text": ["a", "b"], "label": ["X", "O"]}\n',
            {},
            "line 2: expected one token per line, .* got a JSON object: .* Set `format` to json",
        ),
        ("{'text': ['a'], 'label': ['X']}\n", {}, "got a Python dict: .* Set `format` to python"),
        ("a O\n", {"format": "xml"}, "`format` must be .* got 'xml'"),
        ("a O\n", {"separator": ","}, "`separator` must be .* got ','"),
    ],
)
def test_bad_columns(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, **options)


@pytest.mark.parametrize(
    "line, message",
    [
        ("a O", "line 2: expected one JSON object, .* has a different format, set `format`"),
        ('{"text": ["a", "b"], "label": ["O"]}', "line 2: expected as many tags .*; got 1 and 2"),
        ('{"text": "ab", "label": ["O", "O"]}', "line 2: expected a list .* 'ab' of type str"),
        ('{"text": ["a", ""], "label": ["O", "O"]}', r"line 2: .* item 1 \(.*\) is ''"),
        ('{"text": ["a", "b"], "label": ["O", 1]}', r"line 2: .* 'label'; item 1 \(.*\) is 1"),
        ('{"text": [], "label": []}', "line 2: expected at least one token in 'text'"),
        ('{"text": ["a"]}', "line 2: the record has no field 'label'; its fields are 'text'"),
        ('{"text": ["\\ud83d"], "label": ["O"]}', "line 2: .* lone surrogate"),
    ],
)
def test_bad_json(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "\n" + line, format="json")


def test_resume_ner(tfreps_data):
    folder = tfreps_data / "resume_ner"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    counts = {}
    for name in ("train", "dev", "test"):
        sentences = read_tagged(folder / f"{name}.char.bmes")
        tags = {tag for sentence in sentences for tag in sentence.tags}
        counts[name] = len(sentences), sum(len(s.tokens) for s in sentences), len(tags)
    assert counts == {
        "train": (3821, 124_099, 28),
        "dev": (463, 13_890, 26),
        "test": (477, 15_100, 24),
    }
