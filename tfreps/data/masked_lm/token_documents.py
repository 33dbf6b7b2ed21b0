"""Reads documents of sentences from text files into one flat array of token ids."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfreps.data.records import get_field, parse_record
from tfreps.data.text_files import Files, find_files, read_blocks
from tfreps.files.utf8_files import check_unicode

FORMATS = ("lines", "records")
RECORD_FIELDS = ("text1", "text2")
_SENTENCES_AT_A_TIME = 4096


class TokenDocuments(NamedTuple):
    """Token ids of sentences that belong to documents, in the order of the files.

    - `ids`: int `[N]`, of the narrowest type that holds the vocabulary. All sentences.
    - `starts`: int64 `[S + 1]`. Where in `ids` each sentence begins; at last N.
    - `documents`: int64 `[D + 1]`. Which sentence each document begins with; at last S.
    - `num_unknown`: int. How many of the ids are the unknown token.
    """

    ids: np.ndarray
    starts: np.ndarray
    documents: np.ndarray
    num_unknown: int

    @property
    def num_documents(self) -> int:
        return len(self.documents) - 1

    @property
    def num_sentences(self) -> int:
        return len(self.starts) - 1

    @property
    def num_tokens(self) -> int:
        return len(self.ids)


def read_documents(
    files: Files,
    tokenizer: Callable,
    format: str = "lines",
    fields: Sequence[str] = RECORD_FIELDS,
) -> TokenDocuments:
    """Reads and tokenizes text files, some thousand sentences at a time.

    - "lines": one sentence per line; blank lines, and ends of files, part documents.
    - "records": one record per line, JSON or a Python dict literal (no code is run); a record is
      a document and its `fields` are the sentences, as in `{'text1': ..., 'text2': ...}`.

    Sentences of which the tokenizer leaves nothing are passed over, and so are blank lines in
    files of records. What is kept are 2 bytes a token up to a vocabulary of 65,536, else 4.

    Args:
        files: path, glob pattern or a list of them, in UTF-8; `*.gz` is unpacked. Read in order
            of name.
        tokenizer: function from str tensor `[B]` to `tf.RaggedTensor` int `[B, None]` without
            special tokens, that has `vocabulary` and `unknown_id`; see `tfreps.text.bert`.
        format: "lines" or "records".
        fields: of "records".

    Raises:
        ValueError: no such file or format; text that is unreadable or not UTF-8; a line that is no
            record, or lacks a field; no token at all, or none that the vocabulary has.

    Example:
        >>> import pathlib, tempfile
        >>> class Bytes:
        ...     vocabulary, unknown_id = list(range(256)), 0
        ...     def __call__(self, strings):
        ...         return tf.cast(tf.ragged.map_flat_values(tf.io.decode_raw,
        ...             tf.strings.bytes_split(strings), tf.uint8).merge_dims(1, -1), tf.int32)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.txt")
        ...     _ = path.write_text("ab\\nc\\n\\nd\\n")
        ...     found = read_documents(path, Bytes())
        >>> found.ids.tolist(), found.starts.tolist(), found.documents.tolist()
        ([97, 98, 99, 100], [0, 2, 3, 4], [0, 2, 3])
    """
    dtype = np.uint16 if len(tokenizer.vocabulary) <= 1 << 16 else np.int32
    ids = [np.zeros([0], dtype)]
    lengths = []
    numbers = []
    for document_numbers, texts in _portions(read_sentences(files, format, fields)):
        rows = tokenizer(tf.constant(texts))
        ids.append(rows.values.numpy().astype(dtype))
        lengths.append(rows.row_lengths().numpy())
        numbers.append(np.array(document_numbers))
    flat = np.concatenate(ids)
    if not len(flat):
        raise ValueError(f"There is no text in {', '.join(find_files(files)[:3])}.")
    num_unknown = int((flat == tokenizer.unknown_id).sum())
    if num_unknown == len(flat):
        raise ValueError(
            f"No token of {', '.join(find_files(files)[:3])} is in the vocabulary of "
            f"{len(tokenizer.vocabulary):,}: it belongs to other text."
        )
    lengths = np.concatenate(lengths)
    numbers = np.concatenate(numbers)
    numbers = numbers[lengths > 0]
    lengths = lengths[lengths > 0]
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    return TokenDocuments(
        flat,
        np.concatenate([[0], np.cumsum(lengths)]),
        np.append(first, len(lengths)),
        num_unknown,
    )


def read_sentences(
    files: Files, format: str = "lines", fields: Sequence[str] = RECORD_FIELDS
) -> Iterator[tuple[int, str]]:
    """Yields the document's number and the text of every sentence; see `read_documents`."""
    if format not in FORMATS:
        raise ValueError(f"`format` must be one of {', '.join(FORMATS)}; got {format!r}.")
    number = 0
    for path in find_files(files):
        for line, text in _lines(path):
            if format == "records":
                if text.strip():
                    number += 1
                    yield from (
                        (number, sentence) for sentence in _record(path, line, text, fields)
                    )
            elif text.strip():
                yield number, text.strip()
            else:
                number += 1
        number += 1


def _lines(path: str) -> Iterator[tuple[int, str]]:
    for block in read_blocks(path):
        yield from enumerate(block.text.split("\n")[:-1], block.line)


def _record(path: str, line: int, text: str, fields: Sequence[str]) -> Iterator[str]:
    place = f"{os.fspath(path)}, line {line}"
    record = parse_record(text, place, "either")
    for field in fields:
        sentence = get_field(record, field, place)
        if not isinstance(sentence, str):
            raise ValueError(
                f"{place}: expected a string in {field!r}, got {str(sentence)[:40]!r}, a "
                f"{type(sentence).__name__}."
            )
        yield check_unicode(sentence, place)


def _portions(sentences: Iterator[tuple[int, str]]) -> Iterator[tuple[list[int], list[str]]]:
    numbers = []
    texts = []
    for number, text in sentences:
        numbers.append(number)
        texts.append(text)
        if len(texts) == _SENTENCES_AT_A_TIME:
            yield numbers, texts
            numbers = []
            texts = []
    if texts:
        yield numbers, texts
