"""Reads documents of sentences from text files into one flat array of token ids."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import tensorflow as tf

from tfreps._src.data.masked_lm.tokenizer_protocols import DocumentTokenizer
from tfreps._src.data.records import get_text, records
from tfreps._src.data.text_files import Files, find_files, stream_lines
from tfreps._src.files.argument_checks import check_choice

Format = Literal["lines", "records"]
FORMATS: tuple[Format, ...] = ("lines", "records")
RECORD_FIELDS = ("text1", "text2")
_SENTENCES_AT_A_TIME = 4096


class TokenDocuments(NamedTuple):
    """Token ids of the sentences of documents, in the order of the files.

    Attributes:
        ids: uint16 or int32 array, shape `[N]`. Token ids of all sentences.
        starts: int64 array, shape `[S + 1]`. Position in `ids` at which each sentence begins,
            followed by N.
        documents: int64 array, shape `[D + 1]`. Index of the first sentence of each document,
            followed by S.
        num_unknown: int. Number of unknown tokens in `ids`.
        num_documents: int. Number of documents, D.
        num_sentences: int. Number of sentences, S.
        num_tokens: int. Number of tokens, N.
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
    tokenizer: DocumentTokenizer,
    format: Format = "lines",
    fields: Sequence[str] = RECORD_FIELDS,
) -> TokenDocuments:
    """Reads and tokenizes documents in text files, 4,096 sentences at a time.

    Supported formats:

    - `"lines"`: one sentence per line. Blank lines and the ends of files separate documents.
    - `"records"`: one record per line, a JSON object or a Python dict literal (no code is
      executed), such as `{'text1': ..., 'text2': ...}`. A record is a document, and its `fields`
      are the sentences. Blank lines are skipped.

    Sentences without tokens are skipped. A token takes 2 bytes of memory for vocabularies of up
    to 65,536 tokens and 4 bytes otherwise.

    Args:
        files: str, path-like object, or list of them. Paths or glob patterns of UTF-8 files, read
            in order of name; `*.gz` files are decompressed.
        tokenizer: callable. Maps a str tensor `[B]` to an int `tf.RaggedTensor` `[B, None]` of
            token ids without special tokens. It must have the attributes `vocabulary` and
            `unknown_id`, as the tokenizers of `tfreps.text` do.
        format: str. `"lines"` or `"records"`. Defaults to `"lines"`.
        fields: sequence of str. Fields of a record that are sentences. Ignored if `format` is
            `"lines"`. Defaults to `("text1", "text2")`.

    Returns:
        `TokenDocuments`. The token ids of all sentences.

    Raises:
        ValueError: If `read_sentences` raises an error, or the files contain no token or only
            unknown tokens.

    Example:
        >>> import pathlib, tempfile
        >>> import tensorflow as tf
        >>> from tfreps.data import read_documents
        >>> class Bytes:
        ...     vocabulary, unknown_id = list(range(256)), 0
        ...     def __call__(self, texts):
        ...         return tf.cast(tf.ragged.map_flat_values(tf.io.decode_raw,
        ...             tf.strings.bytes_split(texts), tf.uint8).merge_dims(1, -1), tf.int32)
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
    sentences = read_sentences(files, format, fields)
    while portion := list(itertools.islice(sentences, _SENTENCES_AT_A_TIME)):
        document_numbers, texts = zip(*portion, strict=True)
        rows = tokenizer(tf.constant(texts))
        ids.append(rows.values.numpy().astype(dtype))
        lengths.append(rows.row_lengths().numpy())
        numbers.append(np.array(document_numbers))
    flat = np.concatenate(ids)
    if not len(flat):
        raise ValueError(
            f"There is no text in {', '.join(find_files(files)[:3])}; expected at least one token. "
            "Pass files that contain sentences."
        )
    num_unknown = int((flat == tokenizer.unknown_id).sum())
    if num_unknown == len(flat):
        raise ValueError(
            f"No token in {', '.join(find_files(files)[:3])} is in the vocabulary of "
            f"{len(tokenizer.vocabulary):,} tokens. Use a vocabulary built from similar text."
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
    files: Files, format: Format = "lines", fields: Sequence[str] = RECORD_FIELDS
) -> Iterator[tuple[int, str]]:
    """Yields the document number and the text of every sentence in text files.

    Args:
        files, format, fields: As in `read_documents`.

    Yields:
        Tuple `(number, text)`. `number` is an int, the number of the document; numbers ascend, but
        some may be skipped. `text` is a str, the sentence; with format `"lines"`, white space
        around it is removed.

    Raises:
        ValueError: If no file matches `files`; `format` is not one of the values in
            `read_documents`; a file is unreadable, is not UTF-8 or contains a NUL byte; a line is
            not a record; or a field is missing, is not a string, or contains a NUL character or a
            lone surrogate.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import read_sentences
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.txt")
        ...     _ = path.write_text("A rose.\\nA tulip.\\n\\nRain.\\n")
        ...     list(read_sentences(path))
        [(0, 'A rose.'), (0, 'A tulip.'), (1, 'Rain.')]
    """
    check_choice(FORMATS, format=format)
    number = 0
    for path in find_files(files):
        lines = stream_lines(path)
        if format == "records":
            for record, _, place in records(path, lines, "either"):
                number += 1
                for field in fields:
                    yield number, get_text(record, field, place)
        else:
            for line in lines:
                if line.strip():
                    yield number, line.strip()
                else:
                    number += 1
        number += 1
