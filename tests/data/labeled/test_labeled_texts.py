import collections
import gzip
import pathlib

import pytest

from tfreps.data import read_labeled

GOOD, BAD = ("good book", "1"), ("dull", "0")


def pairs(files, **options):
    return [(example.text, example.label) for example in read_labeled(files, **options)]


def read(folder, text, **options):
    path = folder / "a.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return pairs(path, **options)


@pytest.mark.parametrize(
    "format, text",
    [
        ("tab", "1\tgood book\n0\tdull\n"),
        ("tab", "\ufeff1\tgood book\r\n\r\n0\tdull"),
        ("csv", "text,label\ngood book,1\ndull,0\n"),
        ("csv", '\ufeffid,label,text\r\n7,1,"good book"\r\n\r\n8,0,dull'),
        ("tsv", "label\ttext\n1\tgood book\n0\tdull\n"),
        ("json", '{"text": "good book", "label": 1}\n{"text": "dull", "label": "0"}\n'),
        ("python", "{'text': 'good book', 'label': 1}\r\n\r\n{'label': 0, 'text': 'dull'}\r\n"),
    ],
)
def test_formats(tmp_path, format, text):
    assert read(tmp_path, text, format=format) == [GOOD, BAD]


def test_field_names(tmp_path):
    options = {"text_field": "review", "label_field": "stars"}
    assert read(tmp_path, "review,stars\ndull,0\n", format="csv", **options) == [BAD]
    assert read(tmp_path, '{"review": "dull", "stars": 0}', format="json", **options) == [BAD]


def test_texts_as_they_stand(tmp_path):
    assert read(tmp_path, "x\t a b \u3000\n") == [(" a b \u3000", "x")]
    text = 'text,label\r\n"a, ""b""\r\nc",x\r\nd,y\r\n'
    assert read(tmp_path, text, format="csv") == [('a, "b"\r\nc', "x"), ("d", "y")]
    lines = [example.line for example in read_labeled(tmp_path / "a.txt", "csv")]
    assert lines == [2, 4]
    long = "word " * 100_000  # more than the default limit of the csv module
    assert read(tmp_path, f"text,label\n{long},x\n", format="csv") == [(long, "x")]


def test_encodings(tmp_path):
    assert read(tmp_path, b"1\tcaf\xe9\n", encoding="latin-1") == [("café", "1")]
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"1\tgood book\n"))
    assert pairs([tmp_path / "b.gz", tmp_path / "a.txt"], encoding="latin-1")[1] == GOOD


def test_folders(tmp_path):
    for name, text in {"neg/b.txt": "dull", "neg/a": "two\nlines\n", "pos/c": "good"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "README").write_text("beside the classes")
    (tmp_path / ".git").mkdir()
    (tmp_path / "pos" / ".DS_Store").write_bytes(b"\0")
    expected = [("two\nlines\n", "neg"), ("dull", "neg"), ("good", "pos")]
    assert pairs(tmp_path, format="folders") == expected
    assert pairs([str(tmp_path)], format="folders") == expected
    example = read_labeled(tmp_path, format="folders")[1]
    assert (pathlib.Path(example.file), example.line) == (tmp_path / "neg" / "b.txt", 1)
    (tmp_path / "pos" / "empty").write_text("")
    with pytest.raises(ValueError, match="empty, line 1: the text is empty"):
        pairs(tmp_path, format="folders")
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="other contains no files"):
        pairs(tmp_path, format="folders")
    with pytest.raises(ValueError, match="pos contains no folders"):
        pairs(tmp_path / "pos", format="folders")
    with pytest.raises(ValueError, match="README is not a folder; expected"):
        pairs(tmp_path / "README", format="folders")
    with pytest.raises(ValueError, match="`files` must contain at least one folder"):
        pairs([], format="folders")


def test_empty_texts(tmp_path):
    text = "1\tgood book\n0\t \n0\t\n0\tdull\n"
    message = "a.txt, line 2: the text is empty .2 of 4 texts are empty"
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text)
    assert read(tmp_path, text, empty_texts="skip") == [GOOD, BAD]
    assert read(tmp_path, text, empty_texts="keep") == [GOOD, (" ", "0"), ("", "0"), BAD]
    with pytest.raises(ValueError, match="all texts in `files` are empty .1 of 1"):
        read(tmp_path, "1\t\n", empty_texts="skip")


@pytest.mark.parametrize(
    "format, text, message",
    [
        ("tab", "", "a.txt is empty"),
        ("tab", "\n\n", "a.txt contains no text"),
        (
            "tab",
            "a\n",
            "line 1: expected 2 columns, label<TAB>text; got 1: 'a'. Select the columns",
        ),
        (
            "tab",
            "7\t1\t*\ta\n",
            r"1: expected 2 columns, label<TAB>text; got 4: '7\\t1\\t\*\\ta'. .* `label_field`",
        ),
        (
            "tab",
            "1\ta\n" * 198 + "b\n",
            "line 199: expected 2 columns as in line 1; got 1: 'b'. A text must not contain tabs "
            "or line breaks. .* set `quotes` to enclose",
        ),
        ("tab", "1\ta\n1\ta\tb\n", "line 2: expected 2 columns as in line 1; got 3"),
        ("tab", "\ta\n", "line 1: a label must be a non-empty string"),
        ("tab", "1\ta\n\t\n", "line 2: a label must be a non-empty string"),
        ("tab", " 1\ta\n", "line 1: a label must be a non-empty string without .*' 1'"),
        ("tab", b"1\ta\n1\t\xe9\n", "line 2: expected UTF-8"),
        (
            "tab",
            "a hotel " * 6 + "\t1\n",
            "got 'a hotel a hotel a ho ... tel a hotel a hotel ' of type str. .* `label_field`",
        ),
        ("csv", "", "a.txt is empty"),
        ("csv", "\n", "a.txt contains no text"),
        ("csv", "text,label\n", "a.txt contains no text"),
        ("csv", "text,tag\na,1\n", "line 1: expected one column named 'label' .* 'text', 'tag'"),
        ("csv", "text,label,text\n", "line 1: expected one column named 'text'"),
        ("csv", 'text,label\n"a\nb",1\na,b,1\n', "line 4: expected 2 columns .* got 3"),
        ("csv", 'text,label\n"a,1\nb,2\n', "row that begins at line 2: invalid CSV"),
        ("csv", 'text,label\n"a"b,1\n', "row that begins at line 2: invalid CSV"),
        ("json", "\n", "a.txt contains no text"),
        ("json", "1\ta\n", "line 1: expected one JSON object"),
        (
            "json",
            '{"text": ["a"], "label": 1}',
            "line 1: expected a string in field 'text'.* type list",
        ),
        ("json", '{"text": "a", "label": true}', "line 1: a label must be .* 'True' of type bool"),
        ("json", '{"text": "a", "label": 0.5}', "line 1: a label must be .* '0.5' of type float"),
        ("json", '{"text": "a"}', "line 1: the record has no field 'label'; its fields are 'text'"),
        ("json", '{"text": "\\ud83d", "label": 1}', "line 1: .* lone surrogate"),
        ("xml", "a", "`format` must be one of tab, .* got 'xml'"),
    ],
)
def test_bad_files(tmp_path, format, text, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, format=format)


def test_bad_choice(tmp_path):
    with pytest.raises(ValueError, match="`empty_texts` must be one of error, skip, keep"):
        read(tmp_path, "1\ta\n", empty_texts="drop")


def test_hotel_reviews(tfreps_data):
    folder = tfreps_data / "hotel_reviews"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    train = read_labeled(folder / "train_sentiment.txt", "python")
    test = read_labeled(folder / "test_sentiment.txt", "python")
    assert collections.Counter(example.label for example in train) == {"0": 4006, "1": 3994}
    assert collections.Counter(example.label for example in test) == {"0": 994, "1": 1006}
    assert max(len(example.text) for example in train) == 1916


def test_fdu_mtl(tfreps_data):
    folder = tfreps_data / "fdu_mtl"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    latin = {"MR.task.train", "dvd.task.train"}
    paths = sorted(path for split in ("train", "test") for path in folder.glob(f"*.{split}"))
    assert len(paths) == 24
    total = 0
    for path in paths:
        encoding = "latin-1" if path.name in latin else "utf-8"
        texts = read_labeled(path, encoding=encoding, empty_texts="skip")
        assert {example.label for example in texts} == {"0", "1"}
        total += len(texts)
    with pytest.raises(ValueError, match="dvd.task.train, line 905: expected UTF-8"):
        read_labeled(folder / "dvd.task.train")
    with pytest.raises(ValueError, match="sports_outdoors.task.train, line .*: the text is empty"):
        read_labeled(folder / "sports_outdoors.task.train")
    assert total == 25_380 + 3_200 - 1
