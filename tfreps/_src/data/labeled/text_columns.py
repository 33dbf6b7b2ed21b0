"""Reads columns of comma- or tab-separated files, with or without quotes and a header."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from tfreps._src.data.text_files import read_lines, read_text

Quotes = Literal["enclose", "text"]
FirstRow = Literal["header", "data"]

TAB = "\t"
# Delimiter, treatment of double quotes and meaning of the first row of each format.
FORMATS = {
    "tab": (TAB, "text", "data"),
    "csv": (",", "enclose", "header"),
    "tsv": (TAB, "text", "header"),
}
QUOTES: tuple[Quotes, ...] = ("enclose", "text")
FIRST_ROWS: tuple[FirstRow, ...] = ("header", "data")
UNNAMED = ("label", "text")  # columns of a file with two columns and without a header


def read_columns(
    path: str,
    encoding: str,
    format: str,
    names: Sequence[str],
    quotes: Quotes | None = None,
    first_row: FirstRow | None = None,
) -> Iterator[tuple[list[str], int]]:
    """Yields the columns `names` of each row that is not blank, and the number of its first line.

    The arguments are those of `read_labeled`; without a header, `"label"` is column 0 and `"text"`
    is column 1.
    """
    delimiter, own_quotes, own_first_row = FORMATS[format]
    encloses = (quotes or own_quotes) == "enclose"
    header = (first_row or own_first_row) == "header"
    columns = first = width = None
    for line, row in (_quoted_rows if encloses else _plain_rows)(path, encoding, delimiter):
        place = f"{path}, line {line}"
        if columns is None:
            columns = _find_columns(row, names, header, delimiter, place)
            first, width = line, len(row)
            if header:
                continue
        if len(row) != width:
            like = "the header" if header else f"line {first}"
            raise ValueError(
                f"{place}: expected {width} column{'s' * (width != 1)} as in {like}; got "
                f"{len(row)}: {delimiter.join(row)[:60]!r}. {_advice(encloses, delimiter)}"
            )
        yield [row[column] for column in columns], line


def _find_columns(
    row: list[str], names: Sequence[str], header: bool, delimiter: str, place: str
) -> list[int]:
    """Returns the numbers of the columns `names`, given the first row of a file."""
    width = len(row)
    numbers = {name: int(name) for name in names if re.fullmatch("-?[0-9]{1,9}", name)}
    if not header and not numbers and width != 2:
        expected = delimiter.replace(TAB, "<TAB>").join(UNNAMED)
        raise ValueError(
            f"{place}: expected 2 columns, {expected}; got {width}: "
            f"{delimiter.join(row)[:60]!r}. Select the columns by their numbers, counted from 0, "
            "with `label_field` and `text_field`, or set `format`."
        )
    known = row if header else UNNAMED
    found = []
    for name in names:
        if known.count(name) == 1 and known.index(name) < width:
            found.append(known.index(name))
        elif name not in known and -width <= numbers.get(name, width) < width:
            found.append(numbers[name] % width)
        else:
            shown = ", ".join(map(repr, row))[:200]
            where = f"one column named {name!r} in the header" if header else f"a column {name!r}"
            raise ValueError(
                f"{place}: expected {where}, or a column number from 0 to {width - 1}; got "
                f"{shown}. Check `text_field`, `label_field` and `format`."
            )
    if len(set(found)) < len(found):
        raise ValueError(
            f"{place}: `label_field` and `text_field` must be different columns; got "
            f"{' and '.join(map(repr, names))}, both column {found[0]} (counted from 0)."
        )
    return found


def _plain_rows(path: str, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(read_lines(path, encoding), 1):
        if line.strip() or delimiter in line:
            yield number, line.split(delimiter)


def _quoted_rows(path: str, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    text = read_text(path, encoding, in_lines=False)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in rows:
            if row:
                yield line, row
            line = rows.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path}, row that begins at line {line}: invalid CSV ({error}). Check the double "
            "quotes of the row. If double quotes are part of the texts, set `quotes` to text."
        ) from None


def _advice(encloses: bool, delimiter: str) -> str:
    such = f"{'tabs' if delimiter == TAB else 'commas'} or line breaks"
    if encloses:
        return f"Enclose texts that contain {such} in double quotes."
    return (
        f"A text must not contain {such}. If double quotes enclose texts that do, set `quotes` to "
        "enclose."
    )
