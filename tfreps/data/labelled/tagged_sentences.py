"""Reads tagged sentences from CoNLL columns, JSON lines or lines of Python dicts."""

import re
from typing import NamedTuple

from tfreps.data.records import get_field, parse_record, record_format
from tfreps.data.text_files import Files, find_files, read_lines
from tfreps.files.utf8_files import check_unicode

_SEPARATORS = {None: re.compile("[ \t]+"), "\t": re.compile("\t"), " ": re.compile(" ")}
_DOCUMENT_START = "-DOCSTART-"


class TaggedSentence(NamedTuple):
    """A sentence as tokens and tags, with its file and line.

    Attributes:
        tokens: list of str. Tokens of the sentence.
        tags: list of str. Tag of each token, or an empty list if no tags were read.
        file: str. Path of the file.
        line: int. Number of the first line of the sentence, counted from 1.
    """

    tokens: list[str]
    tags: list[str]
    file: str
    line: int


def read_tagged(
    files: Files,
    format: str = "conll",
    *,
    token_column: int = 0,
    tag_column: int | None = -1,
    separator: str | None = None,
    skip_document_starts: bool = True,
    token_field: str = "text",
    tag_field: str | None = "label",
    encoding: str = "utf-8",
) -> list[TaggedSentence]:
    """Reads tagged sentences from text files.

    Supported formats:

    - "conll": one token per line with its tag in another column, and blank lines between
      sentences. Consecutive blank lines count as one; a blank line at the end of a file is
      optional.
    - "json": one JSON object `{"text": ["a", "b"], "label": ["X", "O"]}` per line. Blank lines
      are skipped.
    - "python": one Python dict literal `{'text': ['a', 'b'], 'label': ['X', 'O']}` per line.
      Blank lines are skipped.

    Lines end with a line feed or with a carriage return and a line feed; a carriage return
    elsewhere is an error. A byte order mark at the start of a file is removed. Tokens and tags
    are not normalized, and tags are not checked against a tag scheme.

    Args:
        files: str, path-like object, or list of them. Paths or glob patterns, read in order of
            name; `*.gz` files are decompressed.
        format: str. `"conll"`, `"json"` or `"python"`. Defaults to `"conll"`.
        token_column: int. Column of the token, counted from 0, or from the end if negative.
            Defaults to 0.
        tag_column: int or None. Column of the tag, counted from 0, or from the end if negative. If
            `None`, no tags are read. Defaults to -1.
        separator: str or None. Column separator: `"\\t"` or `" "` for exactly one tab or space.
            If `None`, any run of spaces and tabs separates columns. Other white space is always
            part of the text. Defaults to `None`.
        skip_document_starts: bool. Whether `-DOCSTART-` lines in CoNLL files are skipped. If
            `False`, each of these lines is a sentence of one token. They end the previous sentence
            in either case. Defaults to `True`.
        token_field: str. Field of a record that contains the tokens. Defaults to `"text"`.
        tag_field: str or None. Field of a record that contains the tags. If `None`, no tags are
            read. Defaults to `"label"`.
        encoding: str. Encoding of the files. Defaults to `"utf-8"`.

    Returns:
        list of `TaggedSentence(tokens, tags, file, line)`, named tuples of two lists of str, a
        str and an int. `tags` is empty if no tags are read.

    Raises:
        ValueError: If `format` or `separator` is not one of the values above; `encoding` is
            unknown; no file matches `files`; the lines of a CoNLL file have too few or different
            numbers of columns, or are records; the token and the tag are in the same column; a line
            of a JSON or Python file is not a record; a field is missing or is not a list of
            strings; a token or tag is empty; a record has no tokens or different numbers of tokens
            and tags; or a file cannot be read, contains no sentence, is binary or has a different
            encoding. If a file is invalid, the message names it and, if possible, the line.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import read_tagged
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.conll")
        ...     _ = path.write_text("Ada B-PER\\nsleeps O\\n\\nShe O\\n")
        ...     [(sentence.tokens, sentence.tags) for sentence in read_tagged(path)]
        [(['Ada', 'sleeps'], ['B-PER', 'O']), (['She'], ['O'])]
    """
    if format not in ("conll", "json", "python"):
        raise ValueError(f'`format` must be "conll", "json" or "python"; got {format!r}.')
    if separator not in _SEPARATORS:
        raise ValueError(f"`separator` must be None, a tab or a space; got {separator!r}.")
    sentences = []
    for path in find_files(files):
        lines = read_lines(path, encoding)
        if format == "conll":
            columns = (token_column, tag_column)
            found = _read_columns(path, lines, columns, separator, skip_document_starts)
        else:
            found = _read_records(path, lines, token_field, tag_field, format)
        if not found:
            raise ValueError(f"{path} contains no sentence; expected at least one.")
        sentences += found
    return sentences


def _read_columns(path, lines, columns, separator, skip_document_starts):
    """Returns the sentences in the lines of a CoNLL file."""
    split = _SEPARATORS[separator].split
    token_column, tag_column = columns
    sentences = []
    current = None
    width = None
    for number, line in enumerate(lines, 1):
        if separator is None:
            row = split(line.strip(" \t"))
        else:
            row = split(line)
        is_start = row[0] == _DOCUMENT_START
        if is_start or not line.strip(" \t"):
            current = None
            if not (is_start and not skip_document_starts):
                continue
        if width is None:
            width = number, len(row)
            _check_no_record(f"{path}, line {number}", line)
            _check_columns(f"{path}, line {number}", len(row), columns, line)
        elif len(row) != width[1]:
            raise ValueError(
                f"{path}, line {number}: expected {width[1]} columns as in line {width[0]}; got "
                f"{len(row)}: {line[:60]!r}. Every line must have the same number of columns, and "
                "sentences must be separated by blank lines."
            )
        if current is None:
            current = TaggedSentence([], [], path, number)
            sentences.append(current)
        current.tokens.append(_filled(row[token_column], "token", path, number))
        if tag_column is not None:
            current.tags.append(_filled(row[tag_column], "tag", path, number))
        if is_start:
            current = None
    return sentences


def _check_columns(place, width, columns, line):
    """Checks that the first line of a file has the requested columns."""
    token_column, tag_column = columns
    needed = [column for column in columns if column is not None]
    if any(not -width <= column < width for column in needed) or (
        tag_column is not None and token_column % width == tag_column % width
    ):
        tag = "" if tag_column is None else f" and a tag in a different one, column {tag_column}"
        raise ValueError(
            f"{place}: expected a token in column {token_column}{tag} (counted from 0, or from the "
            f"end if negative); got {width} column{'s' * (width != 1)}: {line[:60]!r}. Check the "
            "column numbers and the column separator."
        )


def _check_no_record(place, line):
    """Checks that the first line of a file with columns is not JSON or a Python dict."""
    kind = record_format(line)
    if kind is not None:
        name = {"json": "a JSON object", "python": "a Python dict"}[kind]
        raise ValueError(
            f"{place}: expected one token per line, in columns; got {name}: {line[:60]!r}. Set "
            f"`format` to {kind}."
        )


def _read_records(path, lines, token_field, tag_field, format):
    """Returns the sentences of a file with one record per line."""
    sentences = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        record = parse_record(line, place, format)
        tokens = _strings(get_field(record, token_field, place), token_field, place)
        tags = []
        if tag_field is not None:
            tags = _strings(get_field(record, tag_field, place), tag_field, place)
            if len(tags) != len(tokens):
                raise ValueError(
                    f"{place}: expected as many tags in {tag_field!r} as tokens in "
                    f"{token_field!r}; got {len(tags)} and {len(tokens)}."
                )
        if not tokens:
            raise ValueError(f"{place}: the sentence has no tokens. Remove the line.")
        sentences.append(TaggedSentence(tokens, tags, path, number))
    return sentences


def _strings(value, name, place):
    """Returns a field as a list of non-empty strings."""
    if not isinstance(value, list | tuple):
        raise ValueError(
            f"{place}: expected a list of strings in field {name!r}; got {str(value)[:40]!r} of "
            f"type {type(value).__name__}."
        )
    for position, item in enumerate(value):
        if not isinstance(item, str) or not item:
            raise ValueError(
                f"{place}: expected non-empty strings in field {name!r}; item {position} (counted "
                f"from 0) is {item!r}."
            )
    check_unicode("".join(value), place)
    return list(value)


def _filled(text, what, path, number):
    if not text:
        raise ValueError(
            f"{path}, line {number}: the {what} is empty. Check the column separators of the line."
        )
    return text
