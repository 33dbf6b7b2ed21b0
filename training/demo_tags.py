"""Builds a tagged corpus from docstrings: which words of a sentence are code.

    tfreps demo-tags --output demo/tags

Authors of docstrings put code between backquotes: pass `x` to ``np.dot``. Those marks are the
answers (B-CODE, I-CODE, scheme bio), and the sentence without them is the question. Docstrings of
the standard library and of the installed packages; words and punctuation apart, as `--tokens words`
cuts raw text; no sentence twice, and no source file in two parts: train.conll, dev.conll,
test.conll.
"""

import argparse
import hashlib
import pathlib
import re

from tfreps.cli.options import Option, add_flags, parse_options
from tfreps.cli.output_checks import check_overwrite
from tfreps.data.python_text import SENTENCE_END, docstring_documents, paragraphs
from tfreps.files.atomic_files import write_text

# :class:`Name` and ``code`` and `code`, on one line of a paragraph.
CODE = re.compile(r"(?:(?<!\w):[\w:]+:)?(?<!`)(`{1,2})(?!`)([^`]+?)\1(?!`)")
BEGIN, END = "\ue000", "\ue001"  # private characters that no text has
TOKEN = re.compile(rf"[{BEGIN}{END}]|\w+|[^\w\s]")
SHORTEST, LONGEST = 5, 60  # tokens of a sentence
MOST_CODE = 0.5  # share of a sentence's tokens; above it, it is no prose
SIZES = {"max_sentences": Option(int, 20_000, "stop at so many sentences (20000)", at_least=10)}
PARTS = {"dev": 0.1, "test": 0.1, "train": 0.8}


def main(argv=None):
    """Collects sentences until there are enough, splits them by source file, writes the files."""
    options = parse_options(make_parser(), argv)
    folder = pathlib.Path(options.output)
    for path in (folder / f"{part}.conll" for part in PARTS):
        check_overwrite(path, options.overwrite)
    found = {name: {} for name in PARTS}  # sentences as keys: each once
    total, seen = 0, set()
    for name, text in docstring_documents():
        part = part_of(name)
        for tagged in tagged_sentences(text):
            words = tuple(token for token, _ in tagged)
            if words not in seen:
                seen.add(words)
                found[part][words] = tagged
                total += 1
        if total >= options.max_sentences:
            break
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", "test"):
        write(folder / f"{part}.conll", found[part].values())
        tags = [tag for tagged in found[part].values() for _, tag in tagged]
        print(f"{part:5}  {len(found[part]):7,} sentences  {len(tags):9,} tokens  "
              f"{tags.count('B-CODE'):7,} pieces of code")  # fmt: skip
    return 0


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tfreps demo-tags", description="A tagged corpus from Python's own docstrings."
    )
    parser.add_argument("--output", required=True, metavar="FOLDER", help="where the files go")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the corpus in that folder"
    )
    add_flags(parser, SIZES)
    return parser


def part_of(name):
    """The part of a source file, by the hash of its name: the same on every machine."""
    share = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
    for part, size in PARTS.items():
        if share < size:
            return part
        share -= size
    return "train"


def tagged_sentences(text):
    """`(token, tag)` pairs of each sentence of prose in which an author marked code."""
    for paragraph in paragraphs(text):
        marked = CODE.sub(lambda match: f"{BEGIN}{match[2].strip()}{END}", paragraph)
        if "`" in marked or "**" in marked:  # marks that do not match: who knows what they mean
            continue
        for sentence in SENTENCE_END.split(marked):
            if sentence.count(BEGIN) != sentence.count(END):  # cut in the middle of code
                continue
            tagged = list(tag(TOKEN.findall(sentence)))
            code = sum(tag != "O" for _, tag in tagged)
            if not all(token.isprintable() for token, _ in tagged):  # a NUL byte, for one
                continue
            if SHORTEST <= len(tagged) <= LONGEST and 0 < code <= MOST_CODE * len(tagged):
                yield tagged


def tag(tokens):
    """Tokens without the marks, each with its tag."""
    state = "O"
    for token in tokens:
        if token in (BEGIN, END):
            state = "B-CODE" if token == BEGIN else "O"
        else:
            yield token, state
            state = "I-CODE" if state == "B-CODE" else state


def write(path, sentences):
    """CoNLL columns, whole or not at all."""
    blocks = ("".join(f"{token}\t{tag}\n" for token, tag in tagged) for tagged in sentences)
    write_text(path, "\n".join(blocks))


if __name__ == "__main__":
    raise SystemExit(main())
