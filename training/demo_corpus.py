"""Builds a corpus from Python's documentation or from your own text.

Python's documentation consists of the help topics of `pydoc` and the docstrings of the standard
library and of the installed packages, which are read from the source files without importing them.
The files train-00.txt, train-01.txt, ..., validation.txt and test.txt have one sentence per line,
with spaces between words and punctuation. No line occurs twice.
"""

import hashlib
import os
import pathlib
import re
import shlex

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.output_checks import CORPUS, check_overwrite
from tfreps._src.data.python_text import SENTENCE_END, paragraphs, python_documents
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.utf8_files import decode_utf8

# A word with its inner apostrophes, hyphens, dots and underscores (don't, well-known, 3.14,
# tf.data), or one punctuation mark.
TOKEN = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
# Markup of docstrings: :class:`Name`, ``code``, `code`, *emphasis*.
MARKUP = (
    (re.compile(r":[\w:]+:`[~!]?([^`]*)`"), r"\1"),
    (re.compile(r"`+|\*+(?=\w)|(?<=\w)\*+"), ""),
)
SHORTEST, LONGEST = 4, 120  # minimum and maximum number of tokens in a sentence
LINES_PER_DOCUMENT = 200  # each block of this many lines of your own text is a document
COMMAND = Command(
    "demo-corpus",
    __doc__,
    {},
    [
        Group("input", "Source of the text.", {
            "text": Option(
                str, None, "Text file, or folder with .txt files, that is used instead of Python's "
                "documentation. May be repeated.", repeated=True, metavar="PATH",
            ),
        }),
        Group("output", "Folder and size of the corpus.", {
            **CORPUS,
            "max_tokens": Option(
                int, 3_000_000, "Approximate maximum number of tokens in the corpus.", at_least=1
            ),
            "shards": Option(
                int, 2, "Number of files into which the training text is divided.", at_least=1,
                at_most=1000,
            ),
        }),
    ],
    (
        "tfreps demo-corpus --output demo/corpus",
        "tfreps demo-corpus --output demo/corpus --text my_notes/ --text novel.txt",
        "tfreps demo-corpus --output demo/corpus --max-tokens 100000 --shards 1 --overwrite",
    ),
    tensorflow=False,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(build, argv)


def build(options):
    """Collects up to --max-tokens tokens of sentences, and writes the files of three parts.

    All sentences of a document belong to the same part.
    """
    for path in options.text or ():
        if not os.path.exists(path):
            raise ValueError(f"--text must be a file or a folder; {path} does not exist.")
    folder, names = pathlib.Path(options.output), file_names(options.shards)
    for path in sorted({folder / name for name in names} | set(old_shards(folder))):
        check_overwrite(path, options.overwrite, options.text or ())
    documents = own_documents(options.text) if options.text else python_documents()
    kept = without_repetition(documents, options.max_tokens)
    if not kept:
        raise ValueError(
            "--text must contain sentences of prose; none were found. Give other files."
        )
    parts = split(kept)
    write_files(folder, parts, options.shards)
    for name, part in parts.items():
        lines = [line for _, lines in part for line in lines]
        print(f"{name:10}  {len(lines):9,} sentences  {count_tokens(lines):9,} tokens")
    print(
        f"Wrote {folder}.\nNext: tfreps build-vocabulary {shlex.quote(str(folder))}/train*.txt "
        "--output FILE --min-count 5."
    )


# Functions that read documents, which are pairs `(name, text)` of raw text.


def own_documents(paths):
    """Yields a pair `(name, text)` for every 200 lines of the files and folders `paths`."""
    for path in map(pathlib.Path, paths):
        files = sorted(item for item in path.rglob("*.txt")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"--text must be a file or a folder with .txt files; {path} has none.")
        for file in files:
            lines = decode_utf8(file.read_bytes(), file).splitlines()
            for start in range(0, len(lines), LINES_PER_DOCUMENT):
                block = lines[start : start + LINES_PER_DOCUMENT]
                yield f"{file}:{start}", "\n".join(block)


# Functions that turn raw text into sentences.


def without_repetition(documents, max_tokens):
    """Returns a list of tuples `(name, sentences)`, one per document, without repeated sentences.

    The documents are read in order until the sentences have at least `max_tokens` tokens.
    """
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
    """Yields tokenized sentences of prose; leaves out code, tables and headings."""
    for paragraph in paragraphs(text):
        for pattern, replacement in MARKUP:
            paragraph = pattern.sub(replacement, paragraph)
        for sentence in SENTENCE_END.split(paragraph):
            tokens = TOKEN.findall(sentence)
            if is_prose(tokens):
                yield " ".join(tokens)


def is_prose(tokens):
    """Returns True for 4 to 120 tokens that are mostly words and end like a sentence."""
    if not SHORTEST <= len(tokens) <= LONGEST or tokens[-1] not in ".!?:":
        return False
    words = sum(token[0].isalpha() for token in tokens)
    names = sum(token != token.lower() for token in tokens)
    code = sum(len(token) > 1 and ("_" in token or "." in token) for token in tokens)
    return words >= 0.6 * len(tokens) and 2 * names <= len(tokens) and code <= 0.15 * len(tokens)


def count_tokens(lines):
    return sum(line.count(" ") + 1 for line in lines)


# Functions that write the files of the corpus.


def split(documents):
    """Splits pairs `(name, sentences)` by the hash of the name.

    Returns a dict of three lists of pairs: `"train"`, `"validation"` and `"test"`. Validation and
    test each get about 2% of the tokens. If the corpus has fewer than a million tokens, each gets
    20,000 tokens or 10% of the tokens, whichever is less.
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
    """Writes the files of the three parts, with one sentence per line.

    Each file is written atomically. Training files that the folder contains from an earlier corpus
    are removed.
    """
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
    """Returns a list of the paths of the training files that the folder already contains."""
    return [path for path in folder.glob("train-*.txt") if re.fullmatch(r"train-\d\d+", path.stem)]
