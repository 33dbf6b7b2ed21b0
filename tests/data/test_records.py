"""Records in lines: JSON objects and Python dict literals."""

import pytest

from tfreps._src.data.records import get_field, parse_record, record_format


@pytest.mark.parametrize(
    "line",
    [
        '{"text": ["a", "b\\u00e9"], "label": 1}',
        "{'text': ['a', 'bé'], 'label': 1}",
        " {'text': ['a', 'b\\u00e9'], 'label': 1,}",
    ],
)
def test_records(line):
    wanted = {"text": ["a", "bé"], "label": 1}
    assert parse_record(line, "", "either") == wanted
    assert parse_record(line, "", "python") == wanted
    if '"' in line:
        assert parse_record(line, "") == wanted
    else:
        with pytest.raises(ValueError, match="expected one JSON .* Python dict; set `format`"):
            parse_record(line, "")


def test_lists_in_records_are_found_in_both_formats():
    assert record_format(' {"a": ["b"]}') == "json" and record_format("{'a': ('b',)}") == "python"
    for line in ("{} O", "{}", '{"a": 1}', "[1]", "{'a': [1", "{" * 5000, ""):
        assert record_format(line) is None


def test_json_is_no_python_and_python_no_json():
    assert parse_record('{"a": true}', "") == {"a": True}
    assert parse_record("{'a': True}", "", "python") == {"a": True}
    with pytest.raises(ValueError, match="f: expected one Python dict literal"):
        parse_record('{"a": true}', "f", "python")


@pytest.mark.parametrize(
    "line, message",
    [
        ("{'text': open('x')}", "f, line 1: expected one JSON object, .* or Python dict literal"),
        ("{'text': 'a'", "f, line 1: expected one JSON"),
        ("[" * 100_000, "f, line 1: expected one JSON"),
        ("{[]: 1}", "f, line 1: expected one JSON"),
        ('["a"]', "f, line 1: expected a record .* of type list"),
        ("'a'", "f, line 1: expected a record .* of type str"),
    ],
)
def test_bad_records(line, message):
    with pytest.raises(ValueError, match=message):
        parse_record(line, "f, line 1", "either")


def test_fields():
    assert get_field({"a": 1}, "a", "f") == 1
    with pytest.raises(ValueError, match="f: the record has no field 'b'; its fields are 'a', 'c'"):
        get_field({"a": 1, "c": 2}, "b", "f")
