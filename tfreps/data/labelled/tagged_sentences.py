"""Reads tagged sentences from CoNLL columns or JSON lines."""

import re
from typing import NamedTuple

from tfreps.data.records import get_field, parse_record
from tfreps.data.text_files import Files, find_files, read_lines
from tfreps.files.utf8_files import check_unicode

_SEPARATORS = {None: re.compile("[ \t]+"), "\t": re.compile("\t"), " ": re.compile(" ")}
_DOCUMENT_START = "-DOCSTART-"


class TaggedSentence(NamedTuple):
    """The tokens of a sentence with their tags, and its place.

    `line` is the number of its first line, counted from 1.
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
    """Reads tagged sentences.

    - "conll": a token per line with its tag in another column, and blank lines between
      sentences. The blank line at the end of the file may be missing, and several stand for one.
    - "json": a sentence per line, a JSON object `{"text": ["a", "b"], "label": ["X", "O"]}`.
      Blank lines are passed over.
    - "python": the same as Python dict literals, `{'text': ['a', 'b'], 'label': ['X', 'O']}`.

    Lines end with a line feed or with carriage return and line feed; a byte order mark at the
    start of a file is left out. Tokens and tags are taken as they stand; whether tags fit a
    scheme is not looked at here.

    Args:
        files: path, glob pattern or a list of them, read in order of name; `*.gz` is unpacked.
        format: "conll", "json" or "python".
        token_column: int, counted from 0, or from the end if negative.
        tag_column: the same, or None to read no tags.
        separator: what stands between columns: None for any run of blanks and tabs, mixed or
            not; a tab or a blank for exactly one. Other white space is text.
        skip_document_starts: bool. Whether CoNLL's lines `-DOCSTART-` are passed over (they end
            a sentence in any case).
        token_field: name of the tokens in a JSON object.
        tag_field: name of the tags, or None to read no tags.
        encoding: of the files.

    Returns:
        list of `TaggedSentence`; without tags their `tags` are empty.

    Raises:
        ValueError: naming file and line: lines of one file with different numbers of columns, or
            with too few; an empty token or tag; tokens and tags of different number; a line that
            is no JSON; a file without any sentence, or in another encoding.

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
        raise ValueError(f"`separator` must be None, a tab or a blank; got {separator!r}.")
    sentences = []
    for path in find_files(files):
        lines = read_lines(path, encoding)
        if format == "conll":
            columns = (token_column, tag_column)
            found = _read_columns(path, lines, columns, separator, skip_document_starts)
        else:
            found = _read_records(path, lines, token_field, tag_field, format)
        if not found:
            raise ValueError(f"{path} holds no sentence.")
        sentences += found
    return sentences


def _read_columns(path, lines, columns, separator, skip_document_starts):
    """The sentences of a file of columns."""
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
            _check_columns(f"{path}, line {number}", len(row), columns, line)
        elif len(row) != width[1]:
            raise ValueError(
                f"{path}, line {number}: expected {width[1]} columns as in line {width[0]}, got "
                f"{len(row)}: {line[:60]!r}. Every line must have the same columns, and only "
                "blank lines stand between sentences."
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
    """Looks whether the first line of a file has the columns that are asked for."""
    token_column, tag_column = columns
    needed = [column for column in columns if column is not None]
    if any(not -width <= column < width for column in needed) or (
        tag_column is not None and token_column % width == tag_column % width
    ):
        tag = "" if tag_column is None else f" and a tag in another, column {tag_column}"
        raise ValueError(
            f"{place}: expected a token in column {token_column}{tag}, counted from 0; got "
            f"{width} column{'s' * (width != 1)}: {line[:60]!r}."
        )


def _read_records(path, lines, token_field, tag_field, format):
    """The sentences of a file with one JSON object in a line."""
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
                    f"{place}: {len(tokens)} tokens in {token_field!r}, but {len(tags)} tags in "
                    f"{tag_field!r}. Every token needs one tag."
                )
        if not tokens:
            raise ValueError(f"{place}: a sentence without tokens. Leave the line out.")
        sentences.append(TaggedSentence(tokens, tags, path, number))
    return sentences


def _strings(value, name, place):
    """A field as a list of strings that are not empty."""
    if not isinstance(value, list | tuple):
        raise ValueError(
            f"{place}: expected a list of strings in {name!r}, got {str(value)[:40]!r}, a "
            f"{type(value).__name__}."
        )
    for position, item in enumerate(value):
        if not isinstance(item, str) or not item:
            raise ValueError(
                f"{place}: expected strings that are not empty in {name!r}; number {position} "
                f"is {item!r}."
            )
    check_unicode("".join(value), place)
    return list(value)


def _filled(text, what, path, number):
    if not text:
        raise ValueError(f"{path}, line {number}: the {what} is empty.")
    return text
