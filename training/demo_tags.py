"""Builds a tagged corpus from Python docstrings, whose tags mark the tokens of code.

Authors of docstrings put code in backquotes, as in: pass `x` to ``np.dot``. The quotes become tags
(B-CODE and I-CODE, scheme bio) and are removed from the sentence. The sentences are from the
docstrings of the standard library and of the installed packages, tokenized like raw text with
`--tokens words`. Only sentences of 5 to 60 tokens are used, of which at least one and at most half
are code. The files are train.conll, validation.conll and test.conll. No sentence occurs twice, and
no source file contributes to two of these files.
"""

import hashlib
import pathlib
import re
import shlex

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option, listed
from tfreps._src.cli.output_checks import CORPUS, check_overwrite
from tfreps._src.data.python_text import SENTENCE_END, docstring_documents, paragraphs
from tfreps._src.files.atomic_files import write_text

# :class:`Name` and ``code`` and `code`, on one line of a paragraph.
CODE = re.compile(r"(?:(?<!\w):[\w:]+:)?(?<!`)(`{1,2})(?!`)([^`]+?)\1(?!`)")
BEGIN, END = "\ue000", "\ue001"  # private-use characters, which no text contains
TOKEN = re.compile(rf"[{BEGIN}{END}]|\w+|[^\w\s]")
SHORTEST, LONGEST = 5, 60  # minimum and maximum number of tokens in a sentence
MOST_CODE = 0.5  # maximum share of the tokens of a sentence that are code
PARTS = {"validation": 0.1, "test": 0.1, "train": 0.8}
COMMAND = Command(
    "demo-tags",
    __doc__,
    {},
    [
        Group("output", "Folder and size of the corpus.", {
            **CORPUS,
            "max_sentences": Option(
                int, 20_000, "Approximate maximum number of sentences in the corpus. Each of its "
                "files gets at least one sentence.", at_least=10,
            ),
        }),
    ],
    (
        "tfreps demo-tags --output demo/tags",
        "tfreps demo-tags --output demo/tags --max-sentences 6000",
        "tfreps demo-tags --output demo/tags --overwrite",
    ),
    tensorflow=False,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(build, argv)


def build(options):
    """Collects sentences with tagged code, and writes the files of three parts.

    All sentences of a source file belong to the same part.
    """
    folder = pathlib.Path(options.output)
    for path in (folder / f"{part}.conll" for part in PARTS):
        check_overwrite(path, options.overwrite)
    # The keys are sentences, so that each sentence occurs once.
    found = {name: {} for name in PARTS}
    total, seen = 0, set()
    for name, text in docstring_documents():
        part = part_of(name)
        for tagged in tagged_sentences(text):
            words = tuple(token for token, _ in tagged)
            if words not in seen:
                seen.add(words)
                found[part][words] = tagged
                total += 1
        if total >= options.max_sentences and all(found.values()):
            break
    empty = [f"{part}.conll" for part in PARTS if not found[part]]
    if empty:
        raise ValueError(
            f"Found no sentences with marked code for {listed(empty)} in the docstrings of the "
            "standard library and of the installed packages. Install more packages."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "validation", "test"):
        write(folder / f"{part}.conll", found[part].values())
        tags = [tag for tagged in found[part].values() for _, tag in tagged]
        print(f"{part:10}  {len(found[part]):7,} sentences  {len(tags):9,} tokens  "
              f"{tags.count('B-CODE'):7,} spans of code")  # fmt: skip
    name = shlex.quote(str(folder))
    print(
        f"Wrote {folder}.\nNext: tfreps train-tagger --train {name}/train.conll --validation "
        f"{name}/validation.conll --scheme bio --tokens words --run DIR."
    )


def part_of(name):
    """Returns "train", "validation" or "test" for a source file, by the hash of its name."""
    share = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
    for part, size in PARTS.items():
        if share < size:
            return part
        share -= size
    return "train"


def tagged_sentences(text):
    """Yields a list of `(token, tag)` pairs for each sentence that contains code in backquotes."""
    for paragraph in paragraphs(text):
        marked = CODE.sub(lambda match: f"{BEGIN}{match[2].strip()}{END}", paragraph)
        # Skips a paragraph with unmatched marks, which are ambiguous.
        if "`" in marked or "**" in marked:
            continue
        for sentence in SENTENCE_END.split(marked):
            # Skips a sentence that ends within code.
            if sentence.count(BEGIN) != sentence.count(END):
                continue
            tagged = list(tag(TOKEN.findall(sentence)))
            code = sum(tag != "O" for _, tag in tagged)
            # Leaves out sentences with characters such as NUL.
            if not all(token.isprintable() for token, _ in tagged):
                continue
            if SHORTEST <= len(tagged) <= LONGEST and 0 < code <= MOST_CODE * len(tagged):
                yield tagged


def tag(tokens):
    """Yields `(token, tag)` for each token except `BEGIN` and `END`, which enclose code."""
    state = "O"
    for token in tokens:
        if token in (BEGIN, END):
            state = "B-CODE" if token == BEGIN else "O"
        else:
            yield token, state
            state = "I-CODE" if state == "B-CODE" else state


def write(path, sentences):
    """Writes sentences as CoNLL columns. The write is atomic."""
    blocks = ("".join(f"{token}\t{tag}\n" for token, tag in tagged) for tagged in sentences)
    write_text(path, "\n".join(blocks))
