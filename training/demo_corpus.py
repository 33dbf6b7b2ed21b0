"""Builds a corpus from text that every Python machine has, or from your own.

    tfreps demo-corpus --output demo/corpus
    tfreps demo-corpus --output demo/corpus --text my_notes/ --text novel.txt

Python's own text is the documentation topics of `pydoc` and the docstrings of the standard library
and of the installed packages, read from the source files without importing them. One sentence a
line, words and punctuation apart, no line twice: train-00.txt ..., validation.txt, test.txt.
"""

import argparse
import hashlib
import os
import pathlib
import re

from tfreps.cli.options import Option, add_flags, parse_options
from tfreps.cli.output_checks import check_overwrite
from tfreps.data.python_text import SENTENCE_END, paragraphs, python_documents
from tfreps.files.atomic_files import write_text
from tfreps.files.utf8_files import decode_utf8

# A word with its inner apostrophes, hyphens, dots and underscores (don't, well-known, 3.14,
# tf.data), or one punctuation mark.
TOKEN = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
# Markup of docstrings: :class:`Name`, ``code``, `code`, *emphasis*.
MARKUP = (
    (re.compile(r":[\w:]+:`[~!]?([^`]*)`"), r"\1"),
    (re.compile(r"`+|\*+(?=\w)|(?<=\w)\*+"), ""),
)
SHORTEST, LONGEST = 4, 120  # tokens of a sentence
SIZES = {
    "max_tokens": Option(int, 3_000_000, "stop at so many tokens (3000000)", at_least=1),
    "shards": Option(int, 2, "number of training files (2)", at_least=1, at_most=1000),
}
LINES_PER_DOCUMENT = 200  # own text is split by blocks of so many lines


def main(argv=None):
    """Collects sentences until there are enough, splits them by document, writes the files."""
    options = parse_options(make_parser(), argv)
    check(options)
    folder, names = pathlib.Path(options.output), file_names(options.shards)
    for path in sorted({folder / name for name in names} | set(old_shards(folder))):
        check_overwrite(path, options.overwrite, options.text or ())
    documents = own_documents(options.text) if options.text else python_documents()
    kept = without_repetition(documents, options.max_tokens)
    if not kept:
        raise ValueError("There is no sentence in that text: expected running prose.")
    parts = split(kept)
    write_files(folder, parts, options.shards)
    for name, part in parts.items():
        lines = [line for _, lines in part for line in lines]
        print(f"{name:10}  {len(lines):9,} sentences  {count_tokens(lines):9,} tokens")
    return 0


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tfreps demo-corpus", description="A corpus from Python's own text, or from yours."
    )
    parser.add_argument("--output", required=True, metavar="FOLDER", help="where the files go")
    parser.add_argument(
        "--text", action="append", metavar="PATH", help="own text file or folder; may be repeated"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the corpus in that folder"
    )
    add_flags(parser, SIZES)
    return parser


def check(options):
    for path in options.text or ():
        if not os.path.exists(path):
            raise ValueError(f"Expected a text file or folder, but {path} does not exist.")


# Where text comes from. A document is (name, raw paragraphs).


def own_documents(paths):
    """The user's files in blocks of lines; an unreadable file is an error, not a gap."""
    for path in map(pathlib.Path, paths):
        files = sorted(item for item in path.rglob("*.txt")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"The folder {path} holds no .txt file.")
        for file in files:
            lines = read_text(file).splitlines()
            for start in range(0, len(lines), LINES_PER_DOCUMENT):
                block = lines[start : start + LINES_PER_DOCUMENT]
                yield f"{file}:{start}", "\n".join(block)


def read_text(path):
    return decode_utf8(path.read_bytes(), path, skip_mark=True)


# From raw text to sentences.


def without_repetition(documents, max_tokens):
    """`(name, sentences)` of each document, no sentence twice anywhere, up to so many tokens."""
    seen, kept, total = set(), [], 0
    for name, text in documents:
        fresh = list(dict.fromkeys(line for line in sentences(text) if line not in seen))
        seen.update(fresh)
        if fresh:
            kept.append((name, fresh))
            total += count_tokens(fresh)
        if total >= max_tokens:
            break
    return kept


def sentences(text):
    """Tokenised sentences of running prose; code, tables and headings are left out."""
    for paragraph in paragraphs(text):
        for pattern, replacement in MARKUP:
            paragraph = pattern.sub(replacement, paragraph)
        for sentence in SENTENCE_END.split(paragraph):
            tokens = TOKEN.findall(sentence)
            if is_prose(tokens):
                yield " ".join(tokens)


def is_prose(tokens):
    """Whether most of it is words, it is neither tiny nor endless, and it ends like a sentence."""
    if not SHORTEST <= len(tokens) <= LONGEST or tokens[-1] not in ".!?:":
        return False
    words = sum(token[0].isalpha() for token in tokens)
    names = sum(token != token.lower() for token in tokens)
    code = sum(len(token) > 1 and ("_" in token or "." in token) for token in tokens)
    return words >= 0.6 * len(tokens) and 2 * names <= len(tokens) and code <= 0.15 * len(tokens)


def count_tokens(lines):
    return sum(line.count(" ") + 1 for line in lines)


# Files.


def split(documents):
    """Train, validation and test, by the hash of the documents' names: 2 % each for the latter.

    They get 20,000 tokens at least where that is no more than a tenth of all.
    """
    ordered = sorted(documents, key=lambda d: hashlib.sha256(d[0].encode()).digest())
    total = sum(count_tokens(lines) for _, lines in documents)
    enough = max(0.02 * total, min(20_000, 0.1 * total))
    parts, place = {"train": [], "validation": [], "test": []}, 0
    for name in ("validation", "test"):
        size = 0
        while size < enough and place < len(ordered) - 1:
            parts[name].append(ordered[place])
            size += count_tokens(ordered[place][1])
            place += 1
    parts["train"] = ordered[place:]
    return parts


def write_files(folder, parts, shards):
    """One sentence per line; every file is whole or not there, and no shard of before stays."""
    folder.mkdir(parents=True, exist_ok=True)
    *train, validation, test = names = file_names(shards)
    files = {name: parts["train"][n::shards] for n, name in enumerate(train)}
    files |= {validation: parts["validation"], test: parts["test"]}
    for name, documents in files.items():
        write_text(folder / name, "".join(line + "\n" for _, lines in documents for line in lines))
    for old in old_shards(folder):
        if old.name not in names:
            old.unlink()


def file_names(shards):
    return [*(f"train-{n:02d}.txt" for n in range(shards)), "validation.txt", "test.txt"]


def old_shards(folder):
    """Training files that are in the folder already."""
    return [path for path in folder.glob("train-*.txt") if re.fullmatch(r"train-\d\d+", path.stem)]
