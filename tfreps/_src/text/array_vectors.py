"""Reads word vectors from a NumPy array, whose words are in a text or Parquet file next to it."""

import os
import tokenize
import warnings
from collections.abc import Iterator

import numpy as np

WORD_FILES = ".txt", ".parquet"
BLOCK = 4096


def array_rows(path: str, largest_dimension: int) -> Iterator[tuple[bytes, bytes, int]]:
    """Yields a tuple `(word, vector, dimension)` for each row of a `.npy` file.

    The word is UTF-8 bytes, and the vector is the bytes of little-endian float32 numbers. The array
    is mapped into memory and read in blocks. It is never unpickled.
    """
    matrix = _mapped(path, largest_dimension)  # [V, D]
    words = _words(path, len(matrix))
    dimension = matrix.shape[1]
    for start in range(0, len(matrix), BLOCK):
        with np.errstate(over="ignore", invalid="ignore"):  # the caller rejects infinity and NaN
            block = np.array(matrix[start : start + BLOCK], "<f4")
        for word, row in zip(words[start : start + BLOCK], block, strict=True):
            yield word.encode("utf-8", "surrogatepass"), row.tobytes(), dimension


def _mapped(path: str, largest_dimension: int) -> np.ndarray:
    """Maps the array of a file into memory, and returns it: floats of 16 to 64 bits, `[V, D]`."""
    try:
        # A product of the shape may overflow.
        with np.errstate(over="raise"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns about files that Python 2 wrote
            # A file that contains pickled objects raises an error.
            matrix = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, SyntaxError, ArithmeticError, tokenize.TokenError) as error:
        raise ValueError(
            f"{path}: expected a NumPy file (*.npy) with one array of numbers; {error}. Write it "
            "with `numpy.save`."
        ) from None
    is_table = matrix.ndim == 2 and len(matrix) and 1 <= matrix.shape[1] <= largest_dimension
    if matrix.dtype.kind != "f" or matrix.dtype.itemsize > 8 or not is_table:
        raise ValueError(
            f"{path}: expected an array of float numbers of 16, 32 or 64 bits, with one row "
            f"for each word and at most {largest_dimension} columns; got {matrix.dtype} of "
            f"shape {matrix.shape}. Convert the array with `astype`, or choose another file."
        )
    return matrix


def _words(path: str, count: int) -> list[str]:
    """Returns the `count` words whose vectors are the rows of the array in the file `path`."""
    file = _word_file(path)
    words = _parquet_words(file, count) if file.endswith(".parquet") else _text_words(file, count)
    if len(words) != count:
        raise ValueError(
            f"{file} has {len(words):,} words, but {path} has {count:,} vectors. Both must list "
            "the same words in the same order."
        )
    return words


def _word_file(path: str) -> str:
    """Returns the path of the file with the words of an array.

    The file has the name of the array and ends in .txt or .parquet, or is the only file in the
    folder with one of these suffixes.
    """
    folder, stem = os.path.dirname(path) or ".", path.removesuffix(".npy")
    named = [stem + ending for ending in WORD_FILES if os.path.isfile(stem + ending)]
    others = [
        os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(WORD_FILES)
    ]
    found = named or others
    if len(found) != 1:
        listed = f"; found {', '.join(sorted(map(os.path.basename, found)))}" if found else ""
        name = os.path.basename(stem)
        raise ValueError(
            f"{path} has no words: expected {name}.txt, with one word per line, or {name}.parquet, "
            f"with one column of strings, in the same folder{listed}."
        )
    return found[0]


def _text_words(file: str, count: int) -> list[str]:
    """Returns at most the first `count + 1` lines of a text file, without their line ends."""
    words = []
    with open(file, "rb") as lines:
        for line in lines:
            words.append(line.rstrip(b"\r\n").decode("utf-8", "surrogateescape"))
            if len(words) > count:
                break
    return words


def _parquet_words(file: str, count: int) -> list[str]:
    """Returns, as a list, the only column of strings of a Parquet file with `count` rows."""
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        import pyarrow.parquet  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ValueError(
            f"{file} needs the package pyarrow. Run `pip install pyarrow`, or write the words to "
            f"{os.path.basename(file).removesuffix('.parquet')}.txt, one per line."
        ) from None
    try:
        table = pyarrow.parquet.ParquetFile(file)
        kinds = pyarrow.string(), pyarrow.large_string()
        columns = [field.name for field in table.schema_arrow if field.type in kinds]
        if len(columns) != 1 or table.metadata.num_rows != count:
            raise ValueError(
                f"{file}: expected {count} rows, one per vector, and one column of strings; "
                f"got {table.metadata.num_rows} rows and {len(columns)} columns of strings. "
                "Write the words of the vectors to the file again."
            )
        words = table.read(columns).column(0).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(
            f"{file} is not a Parquet file that can be read: {error}. Write the file again."
        ) from None
    if None in words:
        number = words.index(None) + 1
        raise ValueError(
            f"{file}: row {number} has no word, but each row must contain a word. Add the "
            "missing word."
        )
    return words
