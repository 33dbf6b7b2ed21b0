"""Reads labelled texts from tab-separated lines, CSV, JSON lines or class folders."""

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
    """A text, its label, its file and the number of its first line, counted from 1."""

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

    Supported formats:

    - "tab": one `label<TAB>text` per line. Any further tabs belong to the text.
    - "csv", "tsv": comma- or tab-separated values with a header row. Fields may be enclosed in
      double quotes, in which case they may contain line breaks.
    - "json": one JSON object `{"text": "...", "label": 1}` per line.
    - "python": one Python dict literal `{'text': '...', 'label': 1}` per line.
    - "folders": `FOLDER/CLASS/FILE`. Each file is one text, and its folder's name is the label.
      Names that start with a dot and files next to the class folders are skipped.

    Lines end with a line feed or with a carriage return and a line feed, and blank lines are
    skipped; with format "folders", line endings and blank lines are part of the text. A byte
    order mark at the start of a file is removed. Texts are not normalized. Integer labels are
    converted to strings.

    Args:
        files: str, path-like object, or list of them. Paths or glob patterns. The files are read in
            the order of their names; `*.gz` files are decompressed. With format "folders", paths of
            one or more folders.
        format: str. One of the formats above. Defaults to `"tab"`.
        text_field: str. Column or field that contains the text. Defaults to `"text"`.
        label_field: str. Column or field that contains the label. Defaults to `"label"`.
        empty_texts: str. Treatment of texts that are empty or contain only white space: `"error"`
            raises an error, `"skip"` removes them, and `"keep"` returns them. Defaults to
            `"error"`.
        encoding: str. Encoding of the files, such as `"latin-1"`. Defaults to `"utf-8"`.

    Returns:
        list of `LabelledText(text, label, file, line)`, named tuples of three str and an int.

    Raises:
        ValueError: If `format` or `empty_texts` is not one of the values above; `encoding` is
            unknown; `files` is empty; a path or pattern in `files` matches no file or, with format
            "folders", is not a folder with class folders; a line has no tab or is not a record; a
            column or field is missing, or a column occurs twice; a row is not valid CSV or does not
            match the header; a label is blank, is surrounded by white space, or is neither a string
            nor an integer; a text is not a string; a text is empty and `empty_texts` is `"error"`;
            all texts are empty and `empty_texts` is `"skip"`; a file contains no text, is damaged
            or has a different encoding; or a class folder contains no files. If a file is the
            cause, the message names it and, if possible, the line.

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
            raise ValueError(
                f"{place}: expected label<TAB>text; found no tab in {line[:60]!r}. If the file has "
                "another format, set `format`."
            )
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
                f"{place}: expected a string in field {text_field!r}; got {str(text)[:40]!r} of "
                f"type {type(text).__name__}."
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
                        f"{place}: expected {len(header)} columns as in the header; got "
                        f"{len(row)}: {str(row)[:60]}. Enclose a text that contains a "
                        f"{delimiter!r} or a line break in double quotes."
                    )
                record = dict(zip(header, row, strict=True))
                label = _label(record[fields[1]], place)
                yield LabelledText(record[fields[0]], label, path, line)
                is_empty = False
            line = rows.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path}, row that begins at line {line}: invalid CSV ({error}). Check the double "
            "quotes of the row."
        ) from None
    if is_empty:
        raise ValueError(f"{path} contains no text; expected at least one labelled text.")


def _check_header(row, fields, place):
    for name in fields:
        if row.count(name) != 1:
            raise ValueError(
                f"{place}: expected one column named {name!r} in the header; got "
                f"{', '.join(map(repr, row))}. Check `text_field`, `label_field` "
                "and `format`."
            )
    return row


def _list_folders(files) -> list[pathlib.Path]:
    folders = [files] if isinstance(files, str | os.PathLike) else list(files)
    folders = sorted(pathlib.Path(folder) for folder in folders)
    if not folders:
        raise ValueError("`files` must contain at least one folder; got none.")
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(
                f"`files` must be folders that contain one folder per class; {folder} is not a "
                "folder."
            )
    return folders


def _read_folder(folder, encoding) -> Iterator[LabelledText]:
    classes = [path for path in _visible(folder) if path.is_dir()]
    if not classes:
        raise ValueError(
            f"{folder} contains no folders. Create one folder per class with its texts."
        )
    for path in classes:
        texts = [file for file in _visible(path) if file.is_file()]
        if not texts:
            raise ValueError(
                f"{path} contains no files, so its class has no texts. Add texts, or remove the "
                "folder."
            )
        label = _label(path.name, str(path))
        for file in texts:
            text = read_text(file, encoding) if file.stat().st_size else ""
            yield LabelledText(text, label, str(file), 1)


def _visible(folder):
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _check_some(path, lines):
    if not any(line.strip() for line in lines):
        raise ValueError(f"{path} contains no text; expected at least one labelled text.")


def _label(value, place) -> str:
    """Returns a label as a string; raises a ValueError if it is not valid."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or value != value.strip() or not value:
        raise ValueError(
            f"{place}: a label must be a non-empty string without surrounding white space, or an "
            f"integer; got {str(value)[:40]!r} of type {type(value).__name__}."
        )
    return check_unicode(value, place)


def _without_empty(texts, empty_texts) -> list[LabelledText]:
    if empty_texts == "keep":
        return texts
    filled = [example for example in texts if example.text.strip()]
    if empty_texts == "error" and len(filled) < len(texts):
        first = next(example for example in texts if not example.text.strip())
        raise ValueError(
            f"{first.file}, line {first.line}: the text is empty ({len(texts) - len(filled)} of "
            f"{len(texts)} texts are empty). Remove the empty texts, or set `empty_texts` to "
            '"skip" or "keep".'
        )
    if not filled:
        raise ValueError(
            f"{texts[0].file}: every text is empty; expected at least one that is not empty."
        )
    return filled
