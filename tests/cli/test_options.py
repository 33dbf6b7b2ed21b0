"""Tests the checks of one value: bounds of numbers, types of JSON values."""

import json

import pytest

from tfreps._src.cli.options import Option, as_clause, check_value, from_json, listed

UNITS = Option(int, 8, "Width.", at_least=1)
DROPOUT = Option(float, 0.5, "Dropout rate.", at_least=0, below=1)
RATE = Option(float, None, "Learning rate.", above=0)
COLUMN = Option(int, -1, "Column.")


@pytest.mark.parametrize(
    "option, value, message",
    [
        (UNITS, 0, "--x must be at least 1; got 0."),
        (UNITS, [2, -1], "--x must be at least 1; got -1."),
        (DROPOUT, 1.0, "--x must be at least 0 and below 1; got 1."),
        (DROPOUT, float("nan"), "--x must be a finite number, at least 0 and below 1; got nan."),
        (RATE, -0.0, "--x must be above 0; got -0."),
        (RATE, float("-inf"), "--x must be a finite number, above 0; got -inf."),
        (UNITS, 2**31, "--x must be at least 1 and at most 2147483647; got 2147483648."),
        (UNITS, 10**4000 - 1, "and at most 2147483647; got an integer of 13,288 bits."),
        (Option(int, 0, "Seed.", at_least=0, at_most=9), 2**64, "at least 0 and at most 9; got 18"),
        (COLUMN, -(2**31), "at least -2147483647 and at most 2147483647; got -2"),
        (Option(float, 0.0, "Shift."), float("inf"), "--x must be a finite number; got inf."),
        (Option(str, None, "Files.", many=True), ["a", ""], "--x is empty; expected a value"),
        (Option(str, None, "Even.", must_be=("ab".__contains__, "a or b")), "c", "a or b; got 'c'"),
    ],
)
def test_values_that_cannot_be(option, value, message):
    with pytest.raises(ValueError) as raised:
        check_value("--x", value, option)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "option, value", [(DROPOUT, 0.0), (RATE, 1e-9), (RATE, None), (COLUMN, -5), (UNITS, [1, 2])]
)
def test_values_within_bounds(option, value):
    check_value("--x", value, option)


FILES = Option(str, None, "Files.", many=True)
FILTERS = Option(json.loads, None, "Filters.")


@pytest.mark.parametrize(
    "option, value, expected",
    [(RATE, 1, 1.0), (FILES, ["b"], ["b"]), (FILTERS, [[1, 2]], [[1, 2]]), (RATE, None, None)],
)
def test_values_of_a_file(option, value, expected):
    found = from_json(value, option)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    "option, value, message",
    [
        (UNITS, "8", 'expected an integer; got "8"'),
        (UNITS, True, "expected an integer; got true"),
        (UNITS, 8.5, "expected an integer; got 8.5"),
        (UNITS, None, "expected an integer; got null"),
        (RATE, "fast", 'expected a number; got "fast"'),
        (Option(bool, False, "Tie."), 1, "expected true or false; got 1"),
        (Option(str, "a", "Kind.", ["a", "b"]), "cold", "expected one of a, b; got 'cold'"),
        (FILES, "a.txt", 'expected a list; got "a.txt"'),
        (FILES, [3], "expected a string; got 3"),
    ],
)
def test_wrong_values_of_a_file(option, value, message):
    with pytest.raises(ValueError) as raised:
        from_json(value, option)
    assert message in str(raised.value)


def test_words():
    assert as_clause("Files of text. Sorted.") == as_clause("Files of text.") == "files of text"
    assert [listed(list("abc")[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert listed(["a", "b", "c"], "or") == "a, b or c"
