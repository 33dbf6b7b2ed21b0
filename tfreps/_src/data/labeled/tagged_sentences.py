"""Reads tagged sentences from CoNLL columns, CoNLL-U, JSON lines or lines of Python dicts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from tfreps._src.data.records import get_field, record_format, records
from tfreps._src.data.text_files import Files, find_files, read_lines
from tfreps._src.files.argument_checks import check_choice
from tfreps._src.files.utf8_files import check_unicode

Format = Literal["conll", "conllu", "json", "python"]
Row = tuple[int, list[str] | None]  # a line number and its columns; `None` ends a sentence

FORMATS: tuple[Format, ...] = ("conll", "conllu", "json", "python")
_SEPARATORS = {None: re.compile("[ \t]+"), "\t": re.compile("\t"), " ": re.compile(" ")}
_DOCUMENT_START = "-DOCSTART-"
_CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
# A comment of CoNLL-U or OntoNotes, unlike a token that begins with #.
_COMMENT = re.compile(r"# ?\S+ ?= |# \S+ \S+|#(begin|end)\b")
_WORD_ID = re.compile(r"\d+(-\d+|\.\d+)?")
# Default columns of the token and of the tag, by format.
_COLUMNS = {"conll": (0, -1), "conllu": (_CONLLU.index("form"), _CONLLU.index("upos"))}


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
    format: Format = "conll",
    *,
    token_column: int | str | None = None,
    tag_column: int | str | None = None,
    read_tags: bool = True,
    separator: Literal["\t", " "] | None = None,
    skip_document_starts: bool = True,
    token_field: str = "text",
    tag_field: str = "label",
    encoding: str = "utf-8",
) -> list[TaggedSentence]:
    """Reads tagged sentences from text files.

    Supported formats:

    - "conll": one token per line with its tag in another column, and blank lines between
      sentences. Consecutive blank lines count as one; a blank line at the end of a file is
      optional. Comment lines are not supported.
    - "conllu": CoNLL-U, the format of Universal Dependencies: ten columns separated by tabs, whose
      names are id, form, lemma, upos, xpos, feats, head, deprel, deps and misc. Comment lines, the
      lines of multiword tokens (ids such as 1-2) and empty nodes (2.1) are skipped. The words of
      each sentence are numbered from 1, and a blank line follows them.
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
        format: str. `"conll"`, `"conllu"`, `"json"` or `"python"`. Defaults to `"conll"`.
        token_column: int, str or None. Column of the token, counted from 0, or from the end if
            negative; or, with format "conllu", the name of a column. If `None`, the first column,
            or form with format "conllu". Defaults to `None`.
        tag_column: int, str or None. Column of the tag, like `token_column`. If `None`, the last
            column, or upos with format "conllu". Defaults to `None`.
        read_tags: bool. Whether to read tags. Defaults to `True`.
        separator: str or None. Column separator with format "conll": `"\\t"` or `" "` for exactly
            one tab or space. If `None`, any run of spaces and tabs separates columns. Other white
            space is always part of the text. Defaults to `None`.
        skip_document_starts: bool. Whether lines with `-DOCSTART-` in any column are skipped with
            format "conll". If `False`, each of these lines is a sentence of one token. In
            either case, these lines end the previous sentence. Defaults to `True`.
        token_field: str. Field of a record that contains the tokens. Defaults to `"text"`.
        tag_field: str. Field of a record that contains the tags. Defaults to `"label"`.
        encoding: str. Encoding of the files. Defaults to `"utf-8"`.

    Returns:
        list of `TaggedSentence(tokens, tags, file, line)`, named tuples of two lists of str, a
        str and an int. `tags` is empty if no tags are read.

    Raises:
        ValueError: If an argument is not one of the values above, no file matches `files`, every
            tag in a CoNLL-U file is `_`, or a file does not have the format. If a file is invalid,
            the message names it and, if possible, the line.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import read_tagged
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.conll")
        ...     _ = path.write_text("Ada B-PER\\nsleeps O\\n\\nShe O\\n")
        ...     [(sentence.tokens, sentence.tags) for sentence in read_tagged(path)]
        [(['Ada', 'sleeps'], ['B-PER', 'O']), (['She'], ['O'])]
    """
    check_choice(FORMATS, format=format)
    if separator not in _SEPARATORS:
        raise ValueError(f"`separator` must be None, a tab or a space; got {separator!r}.")
    columns = []
    if format in _COLUMNS:
        first, last = _COLUMNS[format]
        columns = [_column("token_column", token_column, first, format)]
        columns += [_column("tag_column", tag_column, last, format)] * read_tags
    sentences = []
    for path in find_files(files):
        lines = read_lines(path, encoding)
        if format == "conll":
            rows = _rows(path, lines, columns, separator, skip_document_starts)
            found = _read_columns(path, rows, columns)
            if len(found) > 1 and all(sentence.tokens[0] == "#" for sentence in found):
                _check_no_comment(f"{path}, line {found[0].line}", lines[found[0].line - 1])
        elif format == "conllu":
            found = _read_columns(path, _conllu_rows(path, lines, columns), columns)
            _check_some_tags(path, found, tag_column)
        else:
            found = _read_records(
                path, lines, token_field, tag_field if read_tags else None, format
            )
        if not found:
            raise ValueError(f"{path} contains no sentence; expected at least one.")
        sentences += found
    return sentences


def _column(name: str, column: int | str | None, default: int, format: Format) -> int:
    """Returns the number of the column that the option `name` selects by number or name."""
    if column is None:
        return default
    if isinstance(column, str):
        if format != "conllu" or column not in _CONLLU:
            names = f", or one of {', '.join(_CONLLU)}" if format == "conllu" else ""
            raise ValueError(
                f"`{name}` must be the number of a column{names} with `format` {format}; got "
                f"{column!r}."
            )
        return _CONLLU.index(column)
    return column


def _read_columns(path: str, rows: Iterable[Row], columns: Sequence[int]) -> list[TaggedSentence]:
    """Returns the sentences in `rows`; `columns` are the numbers of the columns to read."""
    sentences = []
    current = None
    for number, row in rows:
        if row is None:
            current = None
            continue
        if current is None:
            current = TaggedSentence([], [], path, number)
            sentences.append(current)
        for what, column in zip(("token", "tag"), columns, strict=False):
            if not row[column]:
                raise ValueError(
                    f"{path}, line {number}: the {what} is empty. Check the column separators of "
                    "the line."
                )
            getattr(current, f"{what}s").append(row[column])
    return sentences


def _rows(
    path: str,
    lines: list[str],
    columns: Sequence[int],
    separator: str | None,
    skip_document_starts: bool,
) -> Iterator[Row]:
    """Yields `(line number, columns)` for each line of a CoNLL file, for `_read_columns`.

    `None` in place of the columns ends a sentence.
    """
    split = _SEPARATORS[separator].split
    first = None
    for number, line in enumerate(lines, 1):
        row = split(line if separator else line.strip(" \t"))
        is_start = _DOCUMENT_START in row
        if is_start or not line.strip(" \t"):
            yield number, None
            if not is_start or skip_document_starts:
                continue
        if first is None:
            first = number, len(row), line
            _check_no_record(f"{path}, line {number}", line)
            _check_columns(f"{path}, line {number}", len(row), columns, line)
        elif len(row) != first[1]:
            _check_no_comment(f"{path}, line {first[0]}", first[2])
            _check_no_comment(f"{path}, line {number}", line)
            raise ValueError(
                f"{path}, line {number}: expected {first[1]} columns as in line {first[0]}; got "
                f"{len(row)}: {line[:60]!r}. Every line must have the same number of columns, and "
                "sentences must be separated by blank lines."
            )
        yield number, row
        if is_start:
            yield number, None


def _conllu_rows(path: str, lines: list[str], columns: Sequence[int]) -> Iterator[Row]:
    """Yields `(line number, columns)` for each word and each blank line of a CoNLL-U file.

    For a blank line, which ends a sentence, the columns are `None`.
    """
    words = 0  # number of words of the current sentence that have been read
    for number, line in enumerate(lines, 1):
        place = f"{path}, line {number}"
        if not line.strip(" \t"):
            words = 0
            yield number, None
        elif line.startswith("#"):
            if words:
                raise _no_blank_line(
                    place, f"expected word {words + 1} or a blank line after word {words}", line
                )
        else:
            row = line.split("\t")
            if len(row) != len(_CONLLU) or not _WORD_ID.fullmatch(row[0]):
                raise ValueError(
                    f"{place}: expected {len(_CONLLU)} columns of CoNLL-U, separated by tabs, "
                    f"the first of which is a number; got a line with {len(row)} columns, "
                    f"{line[:60]!r}. If the file has another format, set `format`."
                )
            if row[0].isdigit():
                words += 1
                if row[0] != str(words):
                    raise _no_blank_line(place, f"expected word {words}", line)
                _check_columns(place, len(row), columns, line)
                yield number, row


def _no_blank_line(place: str, found: str, line: str) -> ValueError:
    """Returns the error for a line that does not continue a sentence of CoNLL-U."""
    return ValueError(
        f"{place}: {found} of the sentence; got {line[:60]!r}. The words of a sentence are "
        "numbered from 1, comments precede them, and a blank line ends them. Add the blank lines "
        "between the sentences, or the words that are missing."
    )


def _check_columns(place: str, width: int, columns: Sequence[int], line: str) -> None:
    """Raises a ValueError if a column of the token or the tag is missing, or both are the same."""
    token, *tag = columns
    if any(not -width <= column < width for column in columns) or (
        tag and token % width == tag[0] % width
    ):
        _check_no_comment(place, line)
        also = f" and a tag in a different one, column {tag[0]}" if tag else ""
        options = "`token_column`, `tag_column`" if tag else "`token_column`"
        raise ValueError(
            f"{place}: expected a token in column {token}{also} (counted from 0, or from the end "
            f"if negative); got {width} column{'s' * (width != 1)}: {line[:60]!r}. Change "
            f"{options} or `separator`, or add the column to the file."
        )


def _check_no_comment(place: str, line: str) -> None:
    """Raises a ValueError if a line with an unexpected number of columns is a comment."""
    if _COMMENT.match(line):
        raise ValueError(
            f"{place}: expected columns; got the comment line {line[:60]!r}. Remove the lines "
            "that begin with #, or set `format` to conllu if the file is CoNLL-U."
        )


def _check_some_tags(path: str, sentences: list[TaggedSentence], column: int | str | None) -> None:
    """Raises a ValueError if all tags are `_`, which marks an empty column in CoNLL-U."""
    tags = {tag for sentence in sentences for tag in sentence.tags}
    if tags == {"_"}:
        name = "upos" if column is None else column
        raise ValueError(
            f"{path}: column {name} is empty: every tag is '_'. Set `tag_column` to another column."
        )


def _check_no_record(place: str, line: str) -> None:
    """Raises a ValueError if the first line of a file with columns is JSON or a Python dict."""
    kind = record_format(line)
    if kind is not None:
        name = {"json": "a JSON object", "python": "a Python dict"}[kind]
        raise ValueError(
            f"{place}: expected one token per line, in columns; got {name}: {line[:60]!r}. Set "
            f"`format` to {kind}."
        )


def _read_records(
    path: str, lines: list[str], token_field: str, tag_field: str | None, format: str
) -> list[TaggedSentence]:
    """Returns the sentences of a file with one record per line."""
    sentences = []
    for record, number, place in records(path, lines, format):
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
            raise ValueError(
                f"{place}: expected at least one token in {token_field!r}; got an empty list. "
                "Remove the line."
            )
        sentences.append(TaggedSentence(tokens, tags, path, number))
    return sentences


def _strings(value: Any, name: str, place: str) -> list[str]:
    """Returns a field as a list; raises a ValueError unless it is a list of non-empty strings."""
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
