"""Columns of labeled texts: names, numbers, quotes and headers."""

import pytest

from tests.data.labeled.test_labeled_texts import BAD, GOOD, read


def test_quotes(tmp_path):
    text = 'label\ttext\n1\t"Fine film\n0\tdull, they say "\n1\tok\n'
    plain = [('"Fine film', "1"), ('dull, they say "', "0"), ("ok", "1")]
    assert read(tmp_path, text, format="tsv") == plain
    assert read(tmp_path, text.removeprefix("label\ttext\n")) == plain
    enclosed = [("Fine film\n0\tdull, they say ", "1"), ("ok", "1")]
    assert read(tmp_path, text, format="tsv", quotes="enclose") == enclosed
    commas = 'label,text\n1,"Fine film"\n'
    assert read(tmp_path, commas, format="csv") == [("Fine film", "1")]
    assert read(tmp_path, commas, format="csv", quotes="text") == [('"Fine film"', "1")]
    with pytest.raises(ValueError, match="invalid CSV .*, set `quotes` to text"):
        read(tmp_path, 'label,text\n1,"a" b\n', format="csv")


@pytest.mark.parametrize(
    "text, options",
    [
        ("good book\t1\ndull\t0\n", {"text_field": "0", "label_field": "1"}),
        ("good book\t1\ndull\t0\n", {"text_field": 0, "label_field": -1}),
        ("good book\t1\ndull\t0\n", {"text_field": "label", "label_field": "text"}),
        ("7\t1\t*\tgood book\n8\t0\t\tdull\n", {"label_field": 1, "text_field": 3}),
        ("1\t*\tgood book\n0\t\tdull\n", {"text_field": 2}),
        ("id\tlabel\ts\n7\t1\tgood book\n8\t0\tdull\n", {"format": "tsv", "text_field": "2"}),
        ("2,1\ngood book,1\ndull,0\n", {"format": "csv", "text_field": "2", "label_field": "1"}),
        (
            '"1","good book"\n"0","dull"\n',
            {"format": "csv", "first_row": "data", "label_field": 0, "text_field": 1},
        ),
        ("text\tlabel\ngood book\t1\ndull\t0\n", {"first_row": "header"}),
    ],
)
def test_columns(tmp_path, text, options):
    assert read(tmp_path, text, **options) == [GOOD, BAD]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"text_field": "review"}, "line 1: expected a column 'review', or a column number from 0"),
        ({"text_field": 2}, "line 1: expected a column '2', or a column number from 0 to 1; got"),
        ({"text_field": -3}, "line 1: expected a column '-3'"),
        ({"text_field": 0}, "must be different columns; got '0' and 'label', both column 0"),
        ({"quotes": "no"}, "`quotes` must be one of enclose, text, or None; got 'no'"),
        ({"first_row": "names"}, "`first_row` must be one of header, data, or None; got 'names'"),
    ],
)
def test_bad_columns(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "1\ta\n", **options)
