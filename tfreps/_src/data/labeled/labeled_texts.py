"""Reads labeled texts from tab-separated lines, CSV, JSON lines or a folder per label."""

import os
import pathlib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from tfreps._src.data.labeled.text_columns import FIRST_ROWS, QUOTES, FirstRow, Quotes, read_columns
from tfreps._src.data.labeled.text_columns import FORMATS as COLUMN_FORMATS
from tfreps._src.data.records import get_field, get_text, records
from tfreps._src.data.text_files import Files, find_files, read_lines, read_text
from tfreps._src.files.argument_checks import check_choice
from tfreps._src.files.utf8_files import check_unicode

Format = Literal["tab", "csv", "tsv", "json", "python", "folders"]
FORMATS = (*COLUMN_FORMATS, "json", "python", "folders")
EmptyTexts = Literal["error", "skip", "keep"]
LONG = 40  # a message shows only the two ends of a label with more characters
_EMPTY_TEXTS: tuple[EmptyTexts, ...] = ("error", "skip", "keep")


class LabeledText(NamedTuple):
    """A text, its label, its file and the number of its first line, counted from 1."""

    text: str
    label: str
    file: str
    line: int


def read_labeled(
    files: Files,
    format: Format = "tab",
    *,
    text_field: str | int = "text",
    label_field: str | int = "label",
    quotes: Quotes | None = None,
    first_row: FirstRow | None = None,
    empty_texts: EmptyTexts = "error",
    encoding: str = "utf-8",
) -> list[LabeledText]:
    """Reads texts with one label each.

    Supported formats:

    - "tab": one `label<TAB>text` per line, or tab-separated columns that `text_field` and
      `label_field` select by number. There is no header.
    - "csv": comma-separated values with a header row. Fields may be enclosed in double quotes, in
      which case they may contain commas and line breaks.
    - "tsv": tab-separated values with a header row. Double quotes are part of the text.
    - "json": one JSON object `{"text": "...", "label": 1}` per line.
    - "python": one Python dict literal `{'text': '...', 'label': 1}` per line.
    - "folders": `FOLDER/CLASS/FILE`. Each file is one text, and its folder's name is the label.
      Names that start with a dot and files next to the folders of the labels are skipped.

    Lines end with a line feed or with a carriage return and a line feed, and blank lines are
    skipped (with double quotes that enclose fields, only empty lines); a carriage return elsewhere
    is an error, except in quoted CSV. With format "folders", line endings and blank lines are part
    of the text. A byte order mark at the start of a file is removed. Texts are not normalized.
    Integer labels are converted to strings.

    Args:
        files: str, path-like object, or list of them. Paths or glob patterns. The files are read in
            the order of their names; `*.gz` files are decompressed. With format "folders", paths of
            one or more folders.
        format: str. One of the formats above. Defaults to `"tab"`.
        text_field: str or int. Column or field that contains the text. Columns are selected by
            their name in the header or by their number, counted from 0, or from the end if
            negative. Without a header, `"text"` is column 1. Defaults to `"text"`.
        label_field: str or int. Column or field that contains the label. Without a header,
            `"label"` is column 0. Defaults to `"label"`.
        quotes: str or None. For "tab", "csv" and "tsv": `"enclose"` if double quotes enclose
            fields, or `"text"` if they are part of the text. If `None`, `"enclose"` for "csv" and
            `"text"` for "tab" and "tsv". Defaults to `None`.
        first_row: str or None. For "tab", "csv" and "tsv": whether the first row is a `"header"`
            or `"data"`. If `None`, `"header"` for "csv" and "tsv" and `"data"` for "tab".
            Defaults to `None`.
        empty_texts: str. Treatment of texts that are empty or contain only white space: `"error"`
            raises an error, `"skip"` removes them, and `"keep"` returns them. Defaults to
            `"error"`.
        encoding: str. Encoding of the files, such as `"latin-1"`. Defaults to `"utf-8"`.

    Returns:
        list of `LabeledText(text, label, file, line)`, named tuples of three str and an int.

    Raises:
        ValueError: If an argument is not one of the values above; `quotes` or `first_row` is given
            for another format; a file or folder is missing or does not have the format; a label is
            neither an integer nor a non-empty string without surrounding white space; a text is
            empty and `empty_texts` is `"error"`; or all texts are empty and it is `"skip"`. If a
            file is the cause, the message names it and, if possible, the line.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import read_labeled
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.txt")
        ...     _ = path.write_text("1\\tgood book\\n0\\tdull\\n")
        ...     [(example.label, example.text) for example in read_labeled(path)]
        [('1', 'good book'), ('0', 'dull')]
    """
    check_choice(FORMATS, format=format)
    check_choice((None, *QUOTES), quotes=quotes)
    check_choice((None, *FIRST_ROWS), first_row=first_row)
    check_choice(_EMPTY_TEXTS, empty_texts=empty_texts)
    for name, value in ("quotes", quotes), ("first_row", first_row):
        if value is not None and format not in COLUMN_FORMATS:
            raise ValueError(
                f"`{name}` has no effect with `format` {format}; got {value!r}. Omit `{name}`."
            )
    if format == "folders":
        groups = [_read_folder(folder, encoding) for folder in _list_folders(files)]
        return _without_empty([example for group in groups for example in group], empty_texts)
    texts = []
    for path in find_files(files):
        if format in COLUMN_FORMATS:
            fields = [str(text_field), str(label_field)]
            found = [*_read_columns(path, encoding, fields, format, quotes, first_row)]
        else:
            found = [*_read_records(path, encoding, (text_field, label_field), format)]
        if not found:
            raise ValueError(f"{path} contains no text; expected at least one labeled text.")
        texts += found
    return _without_empty(texts, empty_texts)


def _read_columns(
    path: str,
    encoding: str,
    fields: list[str],
    format: str,
    quotes: Quotes | None,
    first_row: FirstRow | None,
) -> Iterator[LabeledText]:
    rows = read_columns(path, encoding, format, fields, quotes, first_row)
    for (text, label), line in rows:
        yield LabeledText(text, _label(label, f"{path}, line {line}"), path, line)


def _read_records(
    path: str, encoding: str, fields: tuple[str | int, str | int], format: str
) -> Iterator[LabeledText]:
    text_field, label_field = fields
    for record, number, place in records(path, read_lines(path, encoding), format):
        text = get_text(record, text_field, place)
        yield LabeledText(text, _label(get_field(record, label_field, place), place), path, number)


def _list_folders(files: Files) -> list[pathlib.Path]:
    folders = [files] if isinstance(files, str | os.PathLike) else list(files)
    folders = sorted(pathlib.Path(folder) for folder in folders)
    if not folders:
        raise ValueError("`files` must contain at least one folder; got none.")
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(
                f"{folder} is not a folder; expected folders that contain one folder per label."
            )
    return folders


def _read_folder(folder: pathlib.Path, encoding: str) -> Iterator[LabeledText]:
    classes = [path for path in _visible(folder) if path.is_dir()]
    if not classes:
        raise ValueError(
            f"{folder} contains no folders. Create one folder per label with its texts."
        )
    for path in classes:
        texts = [file for file in _visible(path) if file.is_file()]
        if not texts:
            raise ValueError(
                f"{path} contains no files, so its label has no texts. Add texts, or remove the "
                "folder."
            )
        label = _label(path.name, str(path))
        for file in texts:
            is_empty = not file.stat().st_size
            text = "" if is_empty else read_text(file, encoding, in_lines=False)
            yield LabeledText(text, label, str(file), 1)


def _visible(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _label(value: Any, place: str) -> str:
    """Returns a label as a str.

    Raises:
        ValueError: If the label is neither an int nor a non-empty str without surrounding white
            space.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or value != value.strip() or not value:
        shown, hint = str(value), ""
        if len(shown) > LONG:
            shown = f"{shown[:20]} ... {shown[-20:]}"
            hint = " If it is a text, select the field of the labels with `label_field`."
        raise ValueError(
            f"{place}: a label must be a non-empty string without surrounding white space, or an "
            f"integer; got {shown!r} of type {type(value).__name__}.{hint}"
        )
    return check_unicode(value, place)


def _without_empty(texts: list[LabeledText], empty_texts: EmptyTexts) -> list[LabeledText]:
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
            f"{texts[0].file}: expected at least one text that is not empty; all texts in `files` "
            f"are empty ({len(texts)} of {len(texts)}). Check the files and `text_field`."
        )
    return filled
