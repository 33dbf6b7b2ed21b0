"""Reads labelled texts from lines with a tab, CSV, JSON lines, or a folder per class."""

import csv
import io
import os
import pathlib
from collections.abc import Iterator
from typing import NamedTuple

from tfreps.data.records import get_field, parse_record
from tfreps.data.text_files import Files, find_files, read_lines, read_text
from tfreps.files.utf8_files import check_unicode

_FORMATS = ("tab", "csv", "tsv", "json", "python", "folders")
_EMPTY_TEXTS = ("error", "skip", "keep")


class LabelledText(NamedTuple):
    """A text with its label and its place; `line` is its first line, counted from 1."""

    text: str
    label: str
    file: str
    line: int


def read_labelled(
    files: Files,
    format: str = "tab",
    *,
    text_field: str = "text",
    label_field: str = "label",
    empty_texts: str = "error",
    encoding: str = "utf-8",
) -> list[LabelledText]:
    """Reads texts with one label each.

    - "tab": `label<TAB>text` per line; tabs after the first belong to the text.
    - "csv", "tsv": comma or tab separated, the first row names the columns; fields may be in
      double quotes and then hold line ends.
    - "json": a JSON object `{"text": "...", "label": 1}` per line.
    - "python": the same as a Python dict literal, `{'text': '...', 'label': 1}`.
    - "folders": `FOLDER/CLASS/FILE`, every file one text, the name of its folder the label.
      Names that begin with a dot are skipped, and so are files next to the class folders.

    Lines end with a line feed or with carriage return and line feed; a byte order mark at the
    start of a file is left out. Blank lines are passed over. Texts are taken as they stand. Whole
    numbers as labels become strings.

    Args:
        files: path, glob pattern or a list of them, read in order of name; `*.gz` is unpacked.
            For "folders", a folder or a list of them.
        format: "tab", "csv", "tsv", "json", "python" or "folders".
        text_field: column or JSON field of the text.
        label_field: that of the label.
        empty_texts: what becomes of texts of nothing but white space: "error", "skip" or "keep".
        encoding: of the files.

    Returns:
        list of `LabelledText`.

    Raises:
        ValueError: naming file and line: no tab; a missing column or field; a row with other
            columns than the header; a label that is blank, has white space around it, or is
            neither text nor a whole number; an empty text; a file without any text, or in
            another encoding; a class folder without files.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import read_labelled
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.txt")
        ...     _ = path.write_text("1\\tgood book\\n0\\tdull\\n")
        ...     [(example.label, example.text) for example in read_labelled(path)]
        [('1', 'good book'), ('0', 'dull')]
    """
    if format not in _FORMATS:
        raise ValueError(f"`format` must be one of {', '.join(_FORMATS)}; got {format!r}.")
    if empty_texts not in _EMPTY_TEXTS:
        raise ValueError(
            f"`empty_texts` must be one of {', '.join(_EMPTY_TEXTS)}; got {empty_texts!r}."
        )
    if format == "folders":
        groups = [_read_folder(folder, encoding) for folder in _list_folders(files)]
    else:
        readers = {"tab": _read_tab, "json": _read_records, "python": _read_records}
        read = readers.get(format, _read_csv)
        more = {"tab": (), "csv": (",",), "tsv": ("\t",)}.get(format, (format,))
        fields = (text_field, label_field)
        groups = [read(path, encoding, fields, *more) for path in find_files(files)]
    return _without_empty([example for group in groups for example in group], empty_texts)


def _read_tab(path, encoding, fields) -> Iterator[LabelledText]:
    lines = read_lines(path, encoding)
    _check_some(path, lines)
    for number, line in enumerate(lines, 1):
        if not line.strip() and "\t" not in line:
            continue
        place = f"{path}, line {number}"
        label, tab, text = line.partition("\t")
        if not tab:
            raise ValueError(f"{place}: expected label<TAB>text, got no tab in {line[:60]!r}.")
        yield LabelledText(text, _label(label, place), path, number)


def _read_records(path, encoding, fields, format) -> Iterator[LabelledText]:
    text_field, label_field = fields
    lines = read_lines(path, encoding)
    _check_some(path, lines)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        record = parse_record(line, place, format)
        text = get_field(record, text_field, place)
        if not isinstance(text, str):
            raise ValueError(
                f"{place}: expected a string in {text_field!r}, got {str(text)[:40]!r}, a "
                f"{type(text).__name__}."
            )
        label = _label(get_field(record, label_field, place), place)
        yield LabelledText(check_unicode(text, place), label, path, number)


def _read_csv(path, encoding, fields, delimiter) -> Iterator[LabelledText]:
    text = read_text(path, encoding)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header = None
    line = 1
    is_empty = True
    try:
        for row in rows:
            place = f"{path}, line {line}"
            if header is None and row:
                header = _check_header(row, fields, place)
            elif row:
                if len(row) != len(header):
                    raise ValueError(
                        f"{place}: expected {len(header)} columns as in the header, got "
                        f"{len(row)}: {str(row)[:60]}. A {delimiter!r} or line end inside a text "
                        "needs double quotes around it."
                    )
                record = dict(zip(header, row, strict=True))
                label = _label(record[fields[1]], place)
                yield LabelledText(record[fields[0]], label, path, line)
                is_empty = False
            line = rows.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, row that begins at line {line}: no CSV ({error}).") from None
    if is_empty:
        raise ValueError(f"{path} holds no text.")


def _check_header(row, fields, place):
    for name in fields:
        if row.count(name) != 1:
            raise ValueError(
                f"{place}: expected one column named {name!r} in the header, got "
                f"{', '.join(map(repr, row))}."
            )
    return row


def _list_folders(files) -> list[pathlib.Path]:
    folders = [files] if isinstance(files, str | os.PathLike) else list(files)
    folders = sorted(pathlib.Path(folder) for folder in folders)
    if not folders:
        raise ValueError("No folders were given; give at least one.")
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a folder. Give one that has a folder per class.")
    return folders


def _read_folder(folder, encoding) -> Iterator[LabelledText]:
    classes = [path for path in _visible(folder) if path.is_dir()]
    if not classes:
        raise ValueError(f"{folder} holds no folders. Every class needs one, with its texts.")
    for path in classes:
        texts = [file for file in _visible(path) if file.is_file()]
        if not texts:
            raise ValueError(f"{path} holds no files: a class without texts. Remove the folder.")
        label = _label(path.name, str(path))
        for file in texts:
            text = read_text(file, encoding) if file.stat().st_size else ""
            yield LabelledText(text, label, str(file), 1)


def _visible(folder):
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _check_some(path, lines):
    if not any(line.strip() for line in lines):
        raise ValueError(f"{path} holds no text.")


def _label(value, place) -> str:
    """A label as a string."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or value != value.strip() or not value:
        raise ValueError(
            f"{place}: a label must be text without white space around it, or a whole number; "
            f"got {str(value)[:40]!r}, a {type(value).__name__}."
        )
    return check_unicode(value, place)


def _without_empty(texts, empty_texts) -> list[LabelledText]:
    if empty_texts == "keep":
        return texts
    filled = [example for example in texts if example.text.strip()]
    if empty_texts == "error" and len(filled) < len(texts):
        first = next(example for example in texts if not example.text.strip())
        raise ValueError(
            f"{first.file}, line {first.line}: the text is empty, as {len(texts) - len(filled)} "
            f'of {len(texts)} are. Remove it, or read with empty_texts="skip" or "keep".'
        )
    if not filled:
        raise ValueError(f"{texts[0].file}: every text is empty.")
    return filled
